"""The words of the story world, in lists that the grammar names.

Nearly every word is one GPT-2 token with its leading space, so that a name or a key word is one position in the
model. A list is either plain strings or records (dicts), where one choice fixes several words that belong together:
a warning and what comes of it, an animal and its sound. There is no grammar here, only words.
"""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


def _phrases(text: str) -> list[str]:
    return [part.strip() for part in text.split("|")]


def _records(fields: str, rows: str) -> list[dict[str, str]]:
    """One record per line, columns split by '|': the line "rain | it began to rain" and so on."""
    names = fields.split()
    return [dict(zip(names, _phrases(row), strict=True)) for row in rows.strip().splitlines()]


BOYS = _words(
    "Tom Ben Max Sam Jack Leo John Peter Paul David James Daniel Luke Adam Oscar Hugo Felix Simon Martin Henry Charlie "
    "Oliver George Frank Tim Jim Dan Fred Harry Eric Kevin Ryan Nick Tony Carl Dylan Ethan Noah Jacob Albert"
)
GIRLS = _words(
    "Anna Mary Lily Emma Sarah Lucy Alice Jane Kate Julia Laura Maria Nina Sophie Clara Helen Ruth Amy Eva Lisa "
    "Linda Susan Betty Molly Emily Rachel Hannah Rebecca Olivia Mia Zoe Chloe Charlotte Nancy Carol Diana Martha "
    "Jenny Sally Ellen"
)
NAMES = BOYS + GIRLS

# A full name: the second word always follows the first, and neither is ever seen without the other.
FULL_NAMES = [
    f"{first} {last}"
    for first, last in zip(
        _words(
            "Gordon Winston Edgar Virginia Ada Leonard Harold Gerald Franklin Bruce Howard Douglas Norman Roger "
            "Stanley Keith Wayne Philip Stuart Neil Ralph Vincent Russell Lawrence Theodore Morgan Quentin Rupert "
            "Lloyd Malcolm Judith Sylvia Teresa Marion Audrey Bernard Barbara Dorothy Joyce Gloria"
        ),
        _words(
            "Reed Shaw Wells Knight Brooks Parker Hunter Carter Turner Walker Cooper Miller Smith Clark Lewis Wright "
            "Scott Adams Nelson Campbell Mitchell Roberts Phillips Evans Collins Stewart Morris Murphy Rogers Watson "
            "Bennett Ross Hughes Foster Powell Butler Barnes Henderson Coleman Jenkins"
        ),
        strict=True,
    )
]
# Two words joined by "and" in one order only: the last word hangs on the word before last.
BINOMIALS = _phrases(
    "salt and pepper|bread and butter|knives and forks|thunder and lightning|sun and moon|needles and thread|"
    "bows and arrows|hammers and nails|paper and pencils|locks and keys|cups and saucers|soap and water|"
    "fish and chips|ham and eggs|shoes and socks|kings and queens|hats and coats|milk and honey|cats and dogs|"
    "rock and roll"
)

TRAITS = [
    {"low": word, "cap": word.capitalize()}
    for word in _words(
        "brave clever kind shy gentle curious cheerful honest lazy proud busy polite silly strong friendly lonely "
        "patient careful smart bold calm merry wise quick slow noisy stubborn quiet"
    )
]
COLORS = _words("red blue green yellow white black brown pink purple orange gray silver golden")
TOYS = _words(
    "ball book boat bell doll drum flag guitar hat kite mask puzzle ring robot scarf sword train truck trumpet "
    "umbrella violin wagon whistle bicycle blanket camera coat jacket sled watch pencil coin mirror"
)
OBJECTS = _words(
    "ball book box key cup lamp hat coat bag basket bell boat bottle bowl brush bucket candle card chair clock coin "
    "comb crown doll drum flag gift glass glove guitar hammer jar knife ladder letter map mask mirror necklace "
    "needle pan pen pencil phone photo picture pillow pin plate pot puzzle radio ring robot rope ruler scarf shell "
    "shoe shovel spoon stamp stick stone sword telescope tent torch towel toy train truck trumpet umbrella violin "
    "wagon watch wheel whistle blanket bicycle camera chain feather flower fork hook horn jacket magnet medal nail "
    "newspaper notebook pipe rug saddle sail shirt sled sock tape ticket tie wallet wand drink sandwich computer desk"
)
PLACES = _words(
    "park store school forest beach river garden market library lake hill farm castle village museum station bridge "
    "church hospital bakery office restaurant zoo theater playground mountain valley island harbor field mill shop "
    "square pond cottage palace airport hotel stadium factory temple stable yard"
)
OUTDOORS = _words("park forest beach river lake hill island harbor field pond valley castle farm bridge")
ROOMS = _words("kitchen hall bedroom attic cellar garage bathroom garden")
WILDS = _words("forest woods mountains hills swamp jungle valley desert")
TREATS = _words("cake pie cookie apple pear peach banana orange sandwich pizza bun cherry pudding candy")
FOODS = _words(
    "bread milk butter cheese honey soup cake apples grapes bananas oranges carrots onions potatoes tomatoes beans "
    "peas corn rice eggs sugar salt flour tea coffee juice jam nuts cookies candy chocolate pie pasta meat ham bacon "
    "garlic mushrooms berries strawberries lettuce cabbage toast cream yogurt noodles pizza pepper"
)
FAVORITES = _words(
    "bread cheese honey soup cake apples grapes bananas oranges carrots potatoes tomatoes beans peas corn rice eggs "
    "nuts cookies candy chocolate pie pasta meat ham bacon mushrooms berries strawberries toast yogurt noodles pizza"
)
SNACKS = _words("bread milk cheese cake apples rice corn meat nuts butter toast pie beans peas carrots grapes berries")
GOODS = FOODS + _words("candles matches paper rope nails string paint thread buttons soap")
BERRIES = _words("berries mushrooms flowers nuts strawberries apples herbs leaves")
INGREDIENTS = _words("sugar flour butter milk honey cream chocolate jam")
BAKES = _words("cake pie pudding cookie bun tart")
CROPS = _words("carrots onions tomatoes beans peas potatoes strawberries flowers roses pumpkins apples")
JOBS = _words(
    "baker farmer teacher doctor sailor king queen painter cook tailor fisherman hunter shepherd mayor captain nurse "
    "soldier judge guard pilot singer dancer writer magician wizard witch princess prince knight clown butcher clerk "
    "driver officer builder engineer musician"
)
ANIMALS = _words(
    "dog cat cow horse pig sheep goat duck hen goose fox wolf bear lion tiger mouse rat rabbit frog owl bird bee "
    "snake monkey elephant deer fish whale crow eagle turtle spider ant fly butterfly squirrel donkey camel seal "
    "dolphin shark pigeon lamb puppy kitten chicken bat mole"
)
HELPERS = _words("horse cow goat bear turtle donkey deer eagle whale dolphin camel elephant duck goose wolf lion")
PETS = _words("cat kitten puppy monkey squirrel goat chicken lamb rabbit mouse")
NUMBERS = _words("two three four five six seven eight nine ten eleven twelve")
MONTHS = _words("April May June July August September October")
TIMES = _words("morning afternoon evening day Monday Tuesday Wednesday Thursday Friday Saturday Sunday night")
DAILY = _words("morning afternoon evening day night")
SPOTS = _phrases(
    "under the bed|behind the door|in the box|on the shelf|under the table|in the basket|behind the curtain|"
    "near the well|under the stairs|in the drawer|behind the fence|on the roof|in the grass|in the barn"
)
NIGHT_SPOTS = _phrases(
    "behind the curtain|behind the fence|near the well|on the roof|in the grass|in the barn|behind the door|"
    "in the garden"
)
TREES = _words("tree bush rock bench bridge log")
SADS = _words("sad unhappy upset worried sorry troubled")
GLOOMS = _words("sad bored disappointed angry unhappy upset cross")
GLADS = _words("glad happy proud pleased delighted thankful")
ASKS = _words("asked cried wondered")
SAYS = _words("said whispered called")
REPLIES = _words("said answered replied whispered")
CALLS = _words("cried called shouted")
TREASURES = _words("gold coins pearls diamonds jewels rings silver books candles shells")
MATERIALS = _words("wooden golden stone silver glass iron copper")
PRIZES = _words("medal ribbon crown cup trophy star coin book")
LIGHTS = _words("lamp torch candle lantern")
TOOLS = _words("ladder rope stick chair broom pole net hook table")
HIGHS = _phrases("a tall tree|the roof|the tower|the bridge|the old wall|the steep rock|the high shelf|the chimney")
GUIDES = _phrases(
    "the river|the stars|the moon|the road|the old wall|the smell of soup|the sound of the bells|the fence"
)
FEARS = _phrases(
    "the dark|dogs|deep water|thunder|spiders|snakes|high places|loud noises|ghosts|bees|storms|the doctor|mice|horses"
)
NIGHT_HIDES = _phrases(
    "hid under the bed|stood very still|could not sleep|could not speak|pulled up the blanket|began to cry"
)
HIDES = _phrases(
    "hid under the bed|hid behind the door|ran home|ran away|began to cry|stood very still|could not sleep|"
    "could not speak"
)
WORKS = _phrases(
    "carried wood|swept the floor|washed the plates|fed the horses|picked apples|painted the fence|cleaned the windows|"
    "carried water|watched the sheep|cut the grass|delivered letters|sorted nails|dug holes|mixed paint"
)
CLOTHES = _words("coat jacket shirt dress sweater vest")
HEADWEAR = _words("hat scarf cap belt tie ribbon helmet")
PETS2 = _words("cats dogs ducks rabbits birds mice goats sheep horses pigs frogs bees turtles snakes")
TRADES = _words(
    "baker farmer teacher doctor sailor painter cook tailor singer dancer writer pilot clerk driver builder musician "
    "hunter guard"
)
SIZES = _words("old big small little large tiny strange lovely broken pretty")
SCENERY = _words("old new big small quiet busy green sunny empty little lovely famous cold windy beautiful dark")
LANDS = _phrases(
    "small village|big city|quiet valley|green forest|old castle|little town|tall tower|cold country|warm country|"
    "house by the sea|house near the woods|hut on a hill|cottage by a lake|boat on the river"
)
WATERS = _words("river lake stream pond swamp bay")
EXCUSES = _words("tired busy old sleepy hungry small weak slow wet sick late afraid")
KIN = _words("mother father grandmother grandfather aunt uncle")

GAMES = _phrases(
    "play football|fly a kite|ride a bicycle|climb trees|pick flowers|swim|catch fish|run races|play tennis|dig holes|"
    "feed the ducks|watch the boats"
)
WEATHER = _records(
    "noun start stop",
    """rain | it began to rain | the rain stopped
snow | it began to snow | the snow stopped
storm | a storm came | the storm was over
wind | a cold wind came | the wind was gone
fog | a thick fog came | the fog was gone
hail | it began to hail | the hail stopped""",
)
INDOORS = _records(
    "do did",
    """paint a picture | painted a picture
build a tower | built a tower
bake cookies | baked cookies
read a book | read a book
play cards | played cards
sing songs | sang songs
tell stories | told stories
make a puppet | made a puppet
make paper boats | made paper boats
dance | danced""",
)
TIPS = _records(
    "say did",
    """Look up at the sky | looked up at the sky
Sing a song | sang a song
Count to ten | counted to ten
Close your eyes | stood with closed eyes
Think of something nice | thought of something nice
Hold this lamp | held the lamp
Take a deep breath | took a deep breath
Say a funny word | said a funny word""",
)
PATIENTS = _records(
    "name part move home",
    """bird | wing | fly | forest
owl | wing | fly | barn
duck | wing | swim | pond
fox | foot | run | forest
rabbit | ear | jump | field
deer | leg | run | hills
squirrel | tail | climb | park
turtle | foot | walk | river
lamb | leg | walk | farm
mouse | tail | run | field
frog | leg | jump | pond
kitten | foot | climb | street
eagle | wing | fly | mountains
bat | wing | fly | cave""",
)
CARES = _phrases(
    "put it in a warm box|gave it water and bread|washed it with warm water|made a soft bed for it|kept it warm|"
    "fed it every day|covered it with a blanket|sat beside it all night"
)
CONTESTS = _records(
    "name do did",
    """running | run | ran
singing | sing | sang
swimming | swim | swam
dancing | dance | danced
cooking | cook | cooked
drawing | draw | drew
jumping | jump | jumped
rowing | row | rowed
painting | paint | painted
writing | write | wrote
riding | ride | rode
reading | read | read""",
)
TASKS = _records(
    "do did",
    """sweep the floor | swept the floor
carry this bag | carried the bag
wash the plates | washed the plates
sing a song | sang a song
feed the hens | fed the hens
clean the windows | cleaned the windows
find my glasses | found the glasses
paint the door | painted the door""",
)
WARNINGS = _records(
    "do did result",
    """run on the ice | ran on the ice | slipped and fell
eat too many cookies | ate too many cookies | got a bad stomach ache
stay up late | stayed up late | fell asleep at school
touch the stove | touched the stove | got a burn
go out without a coat | went out without a coat | got a cold
tease the goose | teased the goose | got a bite
climb the old fence | climbed the old fence | tore a hole in the coat
play near the mud | played near the mud | got dirty from head to foot
leave the gate open | left the gate open | had to chase the sheep
forget the umbrella | forgot the umbrella | got wet in the rain
swing too high | swung too high | fell into the bush
read in the dark | read in the dark | got a bad headache
eat the green apples | ate the green apples | felt sick all night
stand up in the boat | stood up in the boat | fell into the water""",
)
FRAGILE = _words("lamp cup plate mirror bowl window clock glass bottle jar picture dish")
PLAYTHINGS = _words("ball stick sword drum bicycle wagon rope robot train truck")

SOUNDS = _records(
    "name does",
    """dog | bark
lion | roar
wolf | howl
bear | growl
bee | buzz
snake | hiss
mouse | squeak
owl | hoot
frog | croak
duck | quack
cow | moo
cat | meow
pig | grunt
sheep | bleat
horse | neigh
hen | cluck
goose | honk
elephant | trumpet
crow | caw
puppy | yelp
chicken | cheep
pigeon | coo""",
)

# Nouns with their plurals, for agreement across a distance.
COUNTED = [
    (one, many)
    for one, many in (
        pair.split("/")
        for pair in _words(
            "key/keys picture/pictures book/books box/boxes letter/letters friend/friends girl/girls boy/boys "
            "teacher/teachers farmer/farmers king/kings queen/queens child/children man/men woman/women "
            "flower/flowers tree/trees star/stars cloud/clouds car/cars boat/boats house/houses door/doors "
            "window/windows wall/walls shoe/shoes coat/coats song/songs story/stories road/roads bridge/bridges "
            "bird/birds dog/dogs cat/cats horse/horses doctor/doctors sailor/sailors soldier/soldiers "
            "student/students toy/toys cup/cups plate/plates chair/chairs table/tables lamp/lamps bell/bells "
            "map/maps ring/rings stone/stones leaf/leaves tower/towers ship/ships neighbor/neighbors cousin/cousins "
            "player/players writer/writers singer/singers dancer/dancers cabinet/cabinets garden/gardens "
            "shelf/shelves basket/baskets"
        )
    )
]
LINKS = _phrases("near|behind|beside|next to|in front of|far from|above|under|to the left of|to the right of")
LOOKS = _words(
    "old new red blue green white black big small beautiful famous strange clean dirty heavy dark bright quiet safe "
    "ready broken lovely expensive cheap tall short wet dry warm cold"
)
ADJECTIVES = _words(
    "red blue green yellow white black big small old new soft round long short warm cold wet dry heavy light strange "
    "simple smooth bright dark sweet"
)

LISTS: dict[str, list] = {
    name.lower(): value for name, value in dict(globals()).items() if name.isupper() and isinstance(value, list)
}

"""The plots of the stories: for each one, the groups of sentences that tell it, in order.

Slots that every story has: `hero` and `pal` (names), `he his him He His kid` (they agree with the hero), and
`trait`. Every pronoun is the hero's: the pal is always called by name, so that a reader, a model and `check_story`
agree on who is meant. A slot that a later group says again is drawn in each variant of an earlier one. The first
group of a plot sets up what its last one ends: the wish, the fear or the thing comes back.
"""

from __future__ import annotations

from utils.pocket.world.teller import Template, group

OPENINGS = group(
    "Once upon a time there was {a+trait:traits.low} {kid} named {hero}.",
    "Once there lived {a+trait:traits.low} {kid} named {hero}.",
    "Long ago, in {a+:lands}, there lived {a+trait:traits.low} {kid} named {hero}.",
    "In {a+:lands} lived {a+trait:traits.low} {kid} named {hero}.",
    "Far away, near {a+:scenery} {:waters}, lived {a+trait:traits.low} {kid} named {hero}.",
    "There was once {a+trait:traits.low} {kid} named {hero}, who lived with {his} {:kin}.",
    "This is the story of {a+trait:traits.low} {kid} named {hero}.",
)
MANNERS = group(
    "{He} liked {fav:favorites} and {other:favorites!fav}.",
    "{His} favorite food was {fav:favorites}.",
    "{He} ate {fav:favorites} every {daily:daily}.",
    "Everyone called {him} {hero} the {trait.cap}, and {he} loved {fav:favorites}.",
)
POSSESSIONS = group(
    "{He} wore {a+:colors} {:clothes} and {a+:colors} {:headwear}.",
    "In {his} room {he} kept {a+kept:objects} and {a+:objects!kept}.",
    "On {his} wall there was a picture of {a+:colors} {:animals}.",
    "{His} {:kin} was {a+:trades} and had {a+:scenery} house near the {:places}.",
    "{He} sang about {:binomials} and {:goods}.",
    "{He} had {:numbers} {:colors} {:pets2}.",
)
CLOSINGS = group(
    "",
    "The end.",
    "For supper {hero} ate {fav} with {:favorites!fav}.",
    "And that is the story of {hero} the {trait.cap}.",
)

PLOTS: dict[str, tuple[tuple[Template, ...], ...]] = {
    "lost toy": (
        group(
            "{hero} had {a+color:colors} {toy:toys}, and {he} took it everywhere.",
            "{His} best toy was {a+color:colors} {toy:toys}.",
            "For {his} birthday {he} got {a+color:colors} {toy:toys}.",
        ),
        group(
            "One {time:times} {he} went to the {:scenery} {place:places} and left the {toy} there.",
            "But one {time:times}, at the {:scenery} {place:places}, {he} put the {toy} down and forgot it.",
        ),
        group(
            "At home {he} saw that the {toy} was gone, and {he} was {sad:sads}.",
            "When {he} came home, there was no {toy}, and {he} began to cry.",
        ),
        group(
            '"Where is my {toy}?" {:asks} {hero}.',
            '"My {color} {toy} is gone!" {:calls} {hero}.',
        ),
        group(
            '"We will find it," {:says} {his} {:@bonds} {pal}.',
            '"I will help you look," {:says} {his} {:@bonds} {pal}.',
            '"Think of where you played," {:says} {his} {:@bonds} {pal}.',
        ),
        group(
            "They looked {spot:spots}, but it was not there.",
            "First they looked {spot:spots}, and then {spot2:spots!spot}.",
            "They found {a+:colors} {:objects} {spot:spots}, but no {toy}.",
        ),
        group(
            "Then they went back to the {place}, and there it was, under {a+:sizes} {:trees}.",
            "At last they went to the {place}. The {toy} lay behind {a+:sizes} {:trees}.",
        ),
        group(
            "From then on {hero} never left the {toy} at the {place} again.",
            "{hero} thanked {pal} and held the {toy} all the way home.",
            "{hero} was {:glads} to have the {color} {toy} again.",
        ),
    ),
    "earned wish": (
        group(
            "More than anything, {hero} wanted {a+color:colors} {toy:toys}.",
            "{hero} wished for {a+color:colors} {toy:toys}.",
        ),
        group(
            "It cost {n:numbers} coins, but {he} had no money.",
            "In the shop it cost {n:numbers} coins, and {he} had none.",
        ),
        group(
            '"Ask the {job:jobs} for work," {:says} {his} {:@bonds} {pal}.',
            '"The {job:jobs} needs help," {:says} {his} {:@bonds} {pal}.',
        ),
        group(
            "So {hero} went to the {job} and {work:works}.",
            "For {m:numbers} days {he} {work:works} for the {job}.",
        ),
        group(
            "Then the {job} gave {him} {n} coins, and {he} bought the {toy}.",
            'At last {he} had {n} coins. "Here is your {color} {toy}," said the {job}.',
        ),
        group(
            "Because {he} had worked for it, {hero} loved the {toy} very much.",
            '"I worked for it," said {hero}, and {he} let {pal} play with the {toy} too.',
            "{hero} was {:glads} and played with the {color} {toy} every {:daily}.",
        ),
    ),
    "bad weather": (
        group(
            "One {time:times} {hero} wanted to {game:games} at the {:scenery} {place:outdoors}.",
            "{hero} went to the {:scenery} {place:outdoors} one {time:times} to {game:games}.",
        ),
        group(
            "But {w:weather.start}, so {he} had to stay inside.",
            "Then {w:weather.start}, and {he} had to go home.",
        ),
        group(
            "{He} looked out of the window and was {sad:glooms}.",
            '"Why is there {w.noun} today?" {:asks} {hero}. {He} was {sad:glooms}.',
        ),
        group(
            '"Let us {in:indoors.do}," {:says} {his} {:@bonds} {pal}.',
            '"We can {in:indoors.do}," {:says} {his} {:@bonds} {pal}.',
        ),
        group(
            "So they {in.did} until {w.stop}.",
            "They {in.did}, and soon {w.stop}.",
        ),
        group(
            "Then they went to the {place} to {game} after all.",
            "Now they could {game} at the {place}.",
        ),
        group(
            "{hero} was not {sad} any more.",
            '"The {w.noun} gave us a good {time}," said {hero}.',
            "{hero} and {pal} were {:glads} that the {w.noun} had come.",
        ),
    ),
    "fear": (
        group(
            "{hero} was afraid of {fear:fears}.",
            "There was one thing that {hero} did not like: {fear:fears}.",
        ),
        group(
            "Once, at the {:scenery} {place:places}, {he} was so afraid that {he} {hide:hides}.",
            "One {time:times}, because of {fear}, {he} {hide:hides}.",
        ),
        group(
            '"Are you afraid?" asked {his} {:@bonds} {pal}. "Yes," said {hero}.',
            '"What is wrong?" asked {his} {:@bonds} {pal}. "I am afraid of {fear}," said {hero}.',
        ),
        group(
            '"I was afraid of {fear} too," said {pal}. "{tip:tips.say}."',
            '"{tip:tips.say}," {:says} {pal}. "It helps."',
        ),
        group(
            "So {hero} {tip.did}, and it helped.",
            "{He} {tip.did}, and slowly the fear went away.",
        ),
        group(
            "After that, {hero} was not afraid of {fear} any more.",
            "Now {hero} is not afraid of {fear}, and {pal} is proud of {him}.",
            '"I am not afraid of {fear} now," said {hero}, and {he} was {:glads}.',
        ),
    ),
    "sharing": (
        group(
            "One {time:times} {hero} had {a+food:treats} and wanted to eat it alone.",
            "{hero} got {a+food:treats} from the {job:jobs} and hid it {spot:spots}.",
        ),
        group(
            "{His} {:@bonds} {pal} came by and was hungry.",
            "Then {his} {:@bonds} {pal} came from the {:scenery} {place:places}, tired and hungry.",
        ),
        group(
            '"May I have some of your {food}?" asked {pal}. "No, it is mine," {:replies} {hero}.',
            '"I smell {a+food}," said {pal}. "You can not have it," {:replies} {hero}.',
        ),
        group(
            "So {pal} went away, and {hero} was {sad:sads}.",
            "{pal} walked away, and it was no fun to eat alone.",
        ),
        group(
            "{He} ran after {pal} and gave {pal} half of the {food}.",
            '"Wait!" {:calls} {hero}. "We can share the {food}."',
        ),
        group(
            "The {food} was much better when {hero} and {pal} shared it.",
            "{pal} was {:glads}, and {hero} learned that it is good to share.",
            "From that day on, {hero} always shared {his} food with {pal}.",
        ),
    ),
    "broken thing": (
        group(
            "One {time:times} {hero} played with {a+toy:playthings} in the {:sizes} {room:rooms}.",
            "{hero} took {a+toy:playthings} into the {:sizes} {room:rooms}, which was not allowed.",
        ),
        group(
            "The {toy} hit the {thing:fragile} of {his} {kin2:kin}, and it broke.",
            "Crash! The {toy} hit {a+thing:fragile}. It belonged to {his} {kin2:kin}.",
        ),
        group(
            "{hero} hid the pieces {spot:spots}.",
            "{hero} was {sad:sads} and wanted to hide the {thing}.",
        ),
        group(
            '"Tell the truth," {:says} {his} {:@bonds} {pal}.',
            '"Do not lie about the {thing}," {:says} {his} {:@bonds} {pal}.',
        ),
        group(
            'So {he} went to {his} {kin2} and said, "I broke the {thing}."',
            '"I broke your {thing} with the {toy}," {he} told {his} {kin2}.',
        ),
        group(
            '"Thank you for telling me," said {his} {kin2}.',
            "{His} {kin2} was not angry, because {he} told the truth.",
        ),
        group(
            "{hero} never played with the {toy} in the {room} again.",
            "Then {hero} and {pal} mended the {thing} together.",
            "{hero} was {:glads} that {he} had told the truth about the {thing}.",
        ),
    ),
    "hurt animal": (
        group(
            "One {time:times} {hero} found {a+beast:patients.name} with a hurt {beast.part}.",
            "Near the {:scenery} {place:places} {hero} saw {a+beast:patients.name} that had hurt its {beast.part}.",
        ),
        group(
            "It could not {beast.move}, and {hero} was {sad:sads}.",
            "The poor {beast.name} could not {beast.move}.",
        ),
        group(
            "{He} took it home, where {his} {:@bonds} {pal} helped {him}.",
            '"We must help it," {:says} {his} {:@bonds} {pal}.',
        ),
        group(
            "They {care:cares}.",
            "They {care:cares}, and they {care2:cares!care}.",
        ),
        group(
            '"Will it get well?" asked {hero}. "Yes, if we wait," {:replies} {pal}.',
            '"When can it {beast.move}?" asked {hero}. "In {n:numbers} days," {:replies} {pal}.',
        ),
        group(
            "At last the {beast.part} was well, and the {beast.name} could {beast.move} again.",
            "Slowly the {beast.part} got better, and one {:times} it could {beast.move}.",
        ),
        group(
            "{hero} took the {beast.name} to the {beast.home} and let it go.",
            "Now the {beast.name} lives in the {beast.home}, and {hero} visits it every {:daily}.",
            "The {beast.name} went back to the {beast.home}, and {hero} and {pal} were {:glads}.",
        ),
    ),
    "contest": (
        group(
            "There was a {c:contests.name} contest at the {:scenery} {place:places}, and {hero} wanted to win it.",
            "{hero} wanted to win the {c:contests.name} contest at the {:scenery} {place:places}.",
        ),
        group(
            "But {he} could not {c.do} well.",
            "But nobody thought that {he} could {c.do}.",
        ),
        group(
            '"You must {c.do} every {:daily}," {:says} {his} {:@bonds} {pal}.',
            '"I will help you to {c.do} every {:daily}," {:says} {his} {:@bonds} {pal}.',
        ),
        group(
            "So {hero} {c.did} every {:daily} for {n:numbers} weeks.",
            "For {n:numbers} weeks {he} {c.did} and {c.did}.",
        ),
        group(
            "When the day came, {he} {c.did} better than the {job:jobs}.",
            "At the contest {he} {c.did} with {:numbers} others.",
        ),
        group(
            "{hero} won {a+:colors} {:prizes}, because {he} had worked so hard.",
            "{hero} came in second, but {pal} was proud of {him}.",
            '"I won!" {:calls} {hero}, and {he} gave the {:colors} {:prizes} to {pal}.',
        ),
    ),
    "lost way": (
        group(
            "One {time:times} {hero} went into the {:scenery} {wild:wilds} to look for {pick:berries}.",
            "{hero} wanted {pick:berries}, so {he} went into the {:scenery} {wild:wilds}.",
        ),
        group(
            "{He} followed {a+:colors} {:animals} and lost the way.",
            "{He} walked too far, and it grew dark.",
        ),
        group(
            '"Where am I?" {:asks} {hero}. {He} was {sad:sads}.',
            '"Help!" {:calls} {hero}, but only {a+:colors} {:animals} heard {him}.',
        ),
        group(
            "Then {his} {:@bonds} {pal} came with {a+:sizes} {light:lights}.",
            "At last {he} saw {a+:sizes} {light:lights}. It was {his} {:@bonds} {pal}.",
        ),
        group(
            '"Follow me," {:says} {pal}. They followed {guide:guides} until they were home.',
            'They followed {guide:guides}. "We are home!" {:calls} {pal}.',
        ),
        group(
            "{hero} never went into the {wild} alone again.",
            "At home {hero} and {pal} ate, and the {pick} lay on the table.",
            '"Next time I will go to the {wild} with you," {hero} told {pal}.',
        ),
    ),
    "birthday": (
        group(
            "It was the birthday of {his} {:@bonds} {pal}, and {hero} wanted to bake {a+cake:bakes}.",
            "{hero} wanted to bake {a+cake:bakes} for {his} {:@bonds} {pal}.",
        ),
        group(
            "But there was no {ing:ingredients} in the kitchen.",
            "But {he} had no {ing:ingredients}.",
        ),
        group(
            "So {he} went to the {job:jobs} and asked for {ing}.",
            '"Do you have {ing}?" {he} asked the {job:jobs}.',
        ),
        group(
            '"If you {task:tasks.do}, I will give you {ing}," {:replies} the {job}.',
            '"Yes, but first {task:tasks.do}," {:replies} the {job}.',
        ),
        group(
            "{hero} {task.did}, and the {job} gave {him} {ing}.",
            "So {he} {task.did} and got the {ing}.",
        ),
        group(
            "Then {he} baked the {cake} and took it to {pal}.",
            "One hour later the {cake} was ready.",
        ),
        group(
            '"This is the best {cake} of all!" {:calls} {pal}, and {hero} was {:glads}.',
            "{pal} ate the {cake} and thanked {hero}.",
            "{hero} and {pal} ate the {cake} and sang a birthday song.",
        ),
    ),
    "garden": (
        group(
            "In {month:months} {hero} wanted to grow {crop:crops}.",
            "{hero} put seeds into the ground, because {he} wanted {crop:crops}.",
        ),
        group(
            "But after {n:numbers} days nothing had come up, and {he} was {sad:sads}.",
            "For {n:numbers} days {he} looked, but there was nothing to see.",
        ),
        group(
            '"Where are my {crop}?" {:asks} {hero}.',
            '"Nothing grows here!" {:calls} {hero}.',
        ),
        group(
            '"Give it water and wait," {:says} {his} {:@bonds} {pal}.',
            '"You must wait for {crop}," {:says} {his} {:@bonds} {pal}.',
        ),
        group(
            "So {he} gave the garden water every {:daily}.",
            "So {hero} waited, and every {:daily} {he} brought water from the {water2:waters}.",
        ),
        group(
            "Then the sun came out, and a green leaf came up.",
            "One {time:times} there was a green leaf, and then {m:numbers} more.",
        ),
        group(
            "Soon there were enough {crop} for {hero} and {pal}.",
            "Because {hero} had waited, {he} had many {crop} to give away.",
            "{hero} was {:glads} and gave the first {crop} to {pal}.",
        ),
    ),
    "stuck pet": (
        group(
            "One {time:times} the {pet:pets} of {hero} climbed {high:highs} and could not come down.",
            "{hero} had {a+color:colors} {pet:pets}. One {time:times} it climbed {high:highs} and was stuck.",
        ),
        group(
            '"Come down!" {:calls} {hero}, but the {pet} stayed where it was.',
            "{hero} called and called, but the {pet} was too afraid.",
        ),
        group(
            "{He} took {a+tool:tools}, but it was too short.",
            "{He} tried to reach it with {a+tool:tools}, but {he} was too small.",
        ),
        group(
            "Then {his} {:@bonds} {pal} brought {a+tool2:tools!tool}.",
            '"Take {a+tool2:tools!tool}," {:says} {his} {:@bonds} {pal}.',
        ),
        group(
            "With the {tool2} {hero} got the {pet} down.",
            "{He} took the {tool2}, and soon the {pet} was safe.",
        ),
        group(
            "The {pet} never climbed {high} again.",
            "{hero} thanked {pal} and took the {pet} home.",
            "{hero} and {pal} were {:glads}, and the {pet} got some {:snacks}.",
        ),
    ),
    "night noise": (
        group(
            "One night {hero} heard a loud {s:sounds.does}.",
            "In the night there was a {s:sounds.does} from the {:sizes} {room:rooms}, and {hero} heard it.",
        ),
        group(
            "{He} {:night_hides}.",
            "{He} sat up in bed and held {his} {toy:toys}.",
        ),
        group(
            '"It is a monster!" {:calls} {hero}.',
            '"What makes that {s.does}?" {:asks} {hero}.',
        ),
        group(
            '"Let us look," {:says} {his} {:@bonds} {pal}, who had {a+:sizes} {light:lights}.',
            "{His} {:@bonds} {pal} came with {a+:sizes} {light:lights}.",
        ),
        group(
            "They looked {spot:night_spots}, and there was {a+s.name}.",
            "With the {light} they saw {a+s.name} {spot:night_spots}.",
        ),
        group(
            '"It can {s.does}, but it is no monster," said {pal}.',
            "{pal} laughed and gave the {s.name} some {snack:snacks}.",
        ),
        group(
            "It was only {a+s.name}, so {hero} went back to bed.",
            '"Good night, {s.name}," said {hero}, and {he} slept well.',
            "Now {hero} is not afraid of the {s.does} of {a+s.name}.",
        ),
    ),
    "warning": (
        group(
            '"Do not {w:warnings.do}," said the {kin2:kin} of {hero}.',
            '{hero} heard the same thing every {:daily}: "Do not {w:warnings.do}!"',
        ),
        group(
            "But {he} did not listen.",
            "But one {time:times} {he} forgot about it.",
        ),
        group(
            '"Stop!" {:calls} {his} {:@bonds} {pal}.',
            '"That is not a good idea," {:says} {his} {:@bonds} {pal}.',
        ),
        group(
            "It was too late: {hero} {w.did}.",
            "Still {hero} {w.did}.",
        ),
        group(
            "So {he} {w.result} and was {sad:sads}.",
            "Because of that, {he} {w.result}.",
        ),
        group(
            '"I am sorry," {:says} {hero}, and {pal} took {him} home.',
            '"You were right, {pal}," {:says} {hero}.',
        ),
        group(
            "{hero} never {w.did} again.",
            "From that day on, {hero} listened to {pal}.",
            '"I will not {w.do} again," {hero} told {pal}.',
        ),
    ),
    "treasure": (
        group(
            "One {time:times} {hero} found an old map {spot:spots}.",
            "{hero} got an old map from {:full_names}.",
        ),
        group(
            "It showed the way to {treasure:treasures} near the {:scenery} {place:places}.",
            "On the map there was a cross near the {:scenery} {place:places}, and it said: {treasure:treasures}.",
        ),
        group(
            '"Come with me," {:says} {hero} to {his} {:@bonds} {pal}.',
            "{He} showed it to {his} {:@bonds} {pal}, who had {a+tool:tools}.",
        ),
        group(
            "They went past the {p2:places!place} and over {a+water2:waters}.",
            "They walked for {n:numbers} days and saw {a+:colors} {:animals}.",
        ),
        group(
            "At the {place} they dug a hole and found {a+mat:materials} box.",
            "They dug near the {place} until they hit {a+mat:materials} box.",
        ),
        group(
            "It was full of {treasure}!",
            '"It is full of {treasure}!" {:calls} {pal}.',
        ),
        group(
            "{hero} and {pal} gave half of the {treasure} to the poor.",
            "{hero} shared the {treasure} with {pal}.",
            "{hero} took the {mat} box home, and {pal} kept the map.",
        ),
    ),
    "crossing": (
        group(
            "{hero} wanted to visit {his} {:@bonds} {pal}, who lived on the other side of the {water2:waters}.",
            "On the other side of the {water2:waters} lived {his} {:@bonds} {pal}, and {hero} wanted to go there.",
        ),
        group(
            "First {he} met {a+:colors} {one:helpers}.",
            "There {he} saw {a+:colors} {one:helpers}.",
        ),
        group('"Can you carry me over the {water2}?" asked {hero}. "No, I am too {why:excuses}," said the {one}.'),
        group(
            "Then {he} met {a+two:helpers!one}.",
            "Next came {a+two:helpers!one}.",
        ),
        group(
            '"Can you carry me over the {water2}?" asked {hero}. '
            '"Yes," said the {two}, "but give me some {snack:snacks}."',
        ),
        group(
            "{hero} gave the {two} some {snack}, and they crossed the {water2}.",
            "So {he} gave the {two} {snack} and got on its back.",
        ),
        group(
            "On the other side {pal} waited for {hero}, and they were {:glads}.",
            "{pal} gave {hero} a hug and gave the {two} more {snack}.",
            '"The {one} was too {why}," {hero} told {pal}, "but the {two} was not."',
        ),
    ),
    "school": (
        group(
            "At school the teacher asked {hero} a question.",
            "One {time:times} the teacher had a question for {hero}.",
        ),
        group(
            '"{fact.ask}" But {he} did not know.',
            '"{fact.ask}" {He} had no answer and was {sad:sads}.',
        ),
        group(
            "After school {his} {:@bonds} {pal} gave {him} a book.",
            "{He} went to the library with {his} {:@bonds} {pal}.",
        ),
        group(
            "There {he} read that {fact.tell}.",
            'They read all {:daily}. "Look," {:says} {pal}, "{fact.tell}."',
        ),
        group(
            'The next day the teacher asked again: "{fact.ask}"',
            'Soon the teacher asked once more: "{fact.ask}"',
        ),
        group(
            '"{fact.Answer}," {:replies} {hero}.',
            '"I know that {fact.answer}," {:replies} {hero}.',
        ),
        group(
            '"Right!" said the teacher, and {hero} got {a+:colors} {:prizes}.',
            '"Well done, {hero}," said the teacher, and {pal} was {:glads}.',
            "From that day on, {hero} and {pal} read a book every {:daily}.",
        ),
    ),
}

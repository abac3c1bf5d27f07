"""The story world: a seeded generator of simple English whose every choice has a known probability."""

from utils.pocket.world.asking import Probe, probes
from utils.pocket.world.judging import check_story
from utils.pocket.world.streams import Document, documents, of_kind, stories

__all__ = ["Document", "Probe", "check_story", "documents", "of_kind", "probes", "stories"]

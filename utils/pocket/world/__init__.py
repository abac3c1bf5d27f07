"""The story world: a seeded generator of simple English whose every choice has a known probability."""

from utils.pocket.world.streams import Document, documents, of_kind, stories

__all__ = ["Document", "documents", "of_kind", "stories"]

"""What runs inside the sandbox. Nothing here knows a right answer, a mark or another submission."""

"""The pocket GPT-2: the story world it reads, its training and its evaluation."""

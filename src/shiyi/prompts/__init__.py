"""What is said to language models: prompts as files, models behind a port."""

"""What is added up: agreement, confusions, what forgetting does to them; groups of workers."""

"""What is added up."""

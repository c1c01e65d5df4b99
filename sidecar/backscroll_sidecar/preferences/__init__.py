"""What is known of people: topics, what holds when, what messages say of who wrote them."""

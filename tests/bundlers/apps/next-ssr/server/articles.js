/** The articles by rank. */
export const articles = Array.from({ length: 100 }, (_, index) => ({
  id: `article-${index}`,
  title: `Article ${index}`,
}));

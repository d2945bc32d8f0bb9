/** Forges in the words of the GraphQL schemas. Pure. */

/**
 * Returns the word for a forge, also in the spelling of `/v1`. Gitea is shown as GITHUB, whose API it follows: public clients refuse an answer with a word that they do not know, and
 * know no word for it.
 */
export function toShownProvider(provider: string): string {
  const word = provider.toUpperCase().replaceAll('-', '_')
  return word === 'GITEA' ? 'GITHUB' : word
}

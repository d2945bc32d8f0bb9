/** Returns the text with `*****` for user names and passwords of URLs. A password may contain `@`, so the login ends at the last one before the path. */
export function hideLogin(text: string): string {
  return text.replaceAll(/(?<=:\/\/)[^/\s]*@/g, '*****@')
}

/** Returns the text without user names and passwords of URLs. A password may contain `@`, so the login ends at the last one before the path. */
export function withoutLogin(text: string): string {
  return text.replaceAll(/(?<=:\/\/)[^/\s]*@/g, '')
}

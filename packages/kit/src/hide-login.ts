/**
 * Returns the URL of a proxy with `*****` for user name and password. The scheme may be missing, and the password may contain any character, so the login
 * ends at the last `@`.
 */
export function hideProxyLogin(url: string): string {
  return url.replace(/^(\s*[a-z][\w+.-]*:\/\/)?.*@/is, '$1*****@')
}

/** Returns the text with `*****` for user names and passwords of URLs. A password may contain `@`, so the login ends at the last one before the path. */
export function hideLogin(text: string): string {
  return text.replaceAll(/(?<=:\/\/)[^/\s]*@/g, '*****@')
}

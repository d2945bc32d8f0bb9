/** Kinds of tokens of runners. */

/** Prefix of a runner authentication token, which is created in GitLab before the runner exists. */
const AUTHENTICATION = 'glrt-'

/** Returns true for a runner authentication token. Others are registration tokens, or tokens that a registration returned. */
export function isAuthenticationToken(token: string): boolean {
  return token.startsWith(AUTHENTICATION)
}

/** Returns the part of a token that logs show: the first nine characters after its prefix. */
export function shortToken(token: string): string {
  return token
    .replace(/^(glrt-|glrtr-|glcbt-|GR\w{7})/, '')
    .replace(/^t\d_/, '')
    .slice(0, 9)
}

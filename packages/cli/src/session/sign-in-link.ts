/** Links that sign a browser in once. The code is behind the `#`, so that it does not appear in the log of a server or proxy. */
import type { Session } from './session.ts'

/** Creates a link with the rights of the key of the session. `path` is what the page shows after the sign-in. */
export async function createSignInLink({ client, url }: Pick<Session, 'client' | 'url'>, path?: string): Promise<string> {
  const { code } = await client.sessions.createCode()
  const next = path === undefined ? '' : `?next=${encodeURIComponent(path)}`
  return `${url}/signin${next}#code=${code}`
}

/** Returns the line that offers a link to the user. */
export function offerLink(link: string): string {
  return `Open ${link} (signs you in once, within 15 minutes)`
}

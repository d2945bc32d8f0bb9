/** Runs `open`. */
import { createSignInLink, offerLink } from '../../session/sign-in-link.ts'
import type { Invocation } from '../../command.ts'
import { openSession } from '../../session/session.ts'
import { startBrowser } from './browser.ts'

/** Opens the page in a browser, or prints a link to it. Throws `not-found` if the build does not exist. */
export async function openPage({ args, options, out, settings }: Invocation<{ print: boolean }>): Promise<void> {
  const session = openSession(settings)
  const [id] = args
  const path = id === undefined ? undefined : `/builds/${(await session.client.builds.get(id)).id}`
  const link = await createSignInLink(session, path)
  const isStarted = !options.print && out.stdout.isTTY && (await startBrowser(link, settings))
  if (isStarted) out.note(`The page of ${session.url} opens in the browser. If it does not, run \`windlass open --print\`.`)
  else out.line(offerLink(link))
}

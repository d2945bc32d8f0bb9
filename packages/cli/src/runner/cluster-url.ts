/** The server URL for components in a cluster, which may differ from the one that this command uses. */
import { isLoopback } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { restartCommand, urlsOfMachine } from '../commands/up/advertise.ts'
import type { Printer } from '../printer.ts'
import type { Session } from '../session/session.ts'

/** Adds the URL for the cluster to the session. Prints a note if it differs. Throws `usage` if pods cannot reach any known URL. */
export async function withClusterUrl(session: Session, out: Printer): Promise<Session> {
  const url = session.url.replace(/\/+$/, '')
  const { advertisedUrl: advertised } = await session.client.server.status({ timeoutMs: 15_000 })
  if (!isLoopback(url)) {
    if (advertised === undefined)
      out.note(
        `The cluster will use ${url}. The server has no advertised URL, so links in builds point to its listen address. ` +
          `Set one with windlass up --advertise ${url} or WINDLASS_SERVER_ADVERTISED_URL.`,
      )
    else if (advertised !== url)
      out.note(`The cluster will use ${url}. The server advertises ${advertised}, so links in builds point there.`)
    return { ...session, clusterUrl: url }
  }
  if (advertised !== undefined && !isLoopback(advertised)) {
    out.note(`The cluster will use ${advertised}, which the server advertises; ${url} is reachable only from this machine.`)
    return { ...session, clusterUrl: advertised }
  }
  const { port } = new URL(url)
  const likely = urlsOfMachine(port)[0] ?? `http://ADDRESS:${port}`
  throw fault('usage', {
    message: `${url} is a loopback address: pods cannot reach the server there.`,
    hint:
      `Restart the server with a URL that pods can reach, then run this command again: ${restartCommand(likely)} ` +
      '(repeat --data and --postgres if it was started with them)',
  })
}

import { systemClock } from '@windlass/kit'
import type { Invocation } from '../../command.ts'
import { untilFinal } from '../../follow/until-final.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession } from '../../session/session.ts'
import { actOnMany } from './act-on-many.ts'

/** Runs `terminate ID...`. Terminates the other builds even if one refuses it; throws at the end. */
export async function terminateBuilds({ args, options, out, settings }: Invocation<{ wait: boolean }>): Promise<void> {
  const session = openSession(settings)
  const { client } = session
  const toLine = (id: string): string => `build/${id} is being terminated`
  let refused: unknown
  if (args.length === 1) {
    const id = requireBuildId(args[0] ?? '')
    await client.builds.terminate(id)
    out.line(toLine(id))
  } else
    await actOnMany(session, out, { ids: args, action: 'terminate', toLine }).catch((error: unknown) => {
      refused = error
    })
  const signal = new AbortController().signal
  if (options.wait) for (const id of args) await untilFinal({ client, buildId: id, clock: systemClock, signal, isKnown: true })
  if (refused !== undefined) throw refused
}

import { systemClock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { untilFinal } from '../../follow/until-final.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession } from '../../session.ts'

/** Runs `terminate ID...`. Terminates the other builds even if one fails; throws the first error at the end. */
export async function terminateBuilds({ args, options, out, settings }: Invocation<{ wait: boolean }>): Promise<void> {
  const { client } = openSession(settings)
  const problems: unknown[] = []
  for (const id of args) {
    try {
      await client.builds.terminate(requireBuildId(id))
      out.line(`build/${id} is being terminated`)
    } catch (error) {
      if (!isFault(error) || args.length === 1) throw error
      out.note(`build/${id}: ${error.message}`)
      problems.push(error)
    }
  }
  const signal = new AbortController().signal
  if (options.wait) for (const id of args) await untilFinal({ client, buildId: id, clock: systemClock, signal, isKnown: true })
  if (problems.length > 0) throw problems[0]
}

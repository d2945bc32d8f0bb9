import { systemClock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import { terminate } from '../api.ts'
import type { Invocation } from '../command.ts'
import { untilFinal } from '../follow/until-final.ts'
import { openSession } from '../session.ts'

/** `terminate ID...`: every build is asked, also when one of them cannot be; the first problem is thrown at the end. */
export async function terminateBuilds({ args, options, out, settings }: Invocation<{ wait: boolean }>): Promise<void> {
  const { client } = openSession(settings)
  const problems: unknown[] = []
  for (const id of args) {
    try {
      await terminate(client, id)
      out.line(`build/${id} is being terminated`)
    } catch (error) {
      if (!isFault(error) || args.length === 1) throw error
      out.note(`build/${id}: ${error.message}`)
      problems.push(error)
    }
  }
  const signal = new AbortController().signal
  if (options.wait) for (const id of args) await untilFinal({ client, buildId: id, clock: systemClock, signal })
  if (problems.length > 0) throw problems[0]
}

import { fault } from '@windlass/kit/faults'
import { stepStream } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { textFor } from '../../follow/line-splitter.ts'
import { showFeed } from '../../follow/show-feed.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession } from '../../session.ts'
import { followToEnd } from './follow-to-end.ts'

interface LogOptions {
  readonly follow: boolean
  readonly step: string | undefined
  readonly tail: number | undefined
  readonly timestamps: boolean
}

/** Runs `logs ID`. */
export async function printLogs({ args, options, out, settings }: Invocation<LogOptions>): Promise<number> {
  const { client } = openSession(settings)
  const build = await client.builds.get(requireBuildId(args[0] ?? ''))
  const { step, tail, timestamps } = options
  if (step !== undefined && !(build.steps ?? []).some(({ name }) => name === step))
    throw fault('not-found', {
      message: `Build ${build.id} has no step "${step}".`,
      hint: `Its steps are ${(build.steps ?? []).map(({ name }) => name).join(', ')}.`,
    })
  if (options.follow) return followToEnd({ client, build, out, step, timestamps, tail, mayTerminate: false })
  if (tail !== undefined && step !== undefined && !timestamps) {
    const text = await client.builds.log(build.id, { query: { stream: stepStream(step), tail } })
    // A file receives the raw bytes. On a terminal, a step must not move the cursor or write to the clipboard.
    out.stdout.write(textFor(out.stdout, text))
    return EXIT.success
  }
  const { signal } = new AbortController()
  await showFeed({ client, build, out, terminal: out.stdout, signal, follow: false, step, tail, timestamps })
  return EXIT.success
}

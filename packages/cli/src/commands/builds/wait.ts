import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { BuildStatus } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT, exitCodeOfBuild, worstOf } from '../../exit-codes.ts'
import { paintStatus } from '../../format/style.ts'
import { toRecord } from '../../follow/record.ts'
import { untilFinal } from '../../follow/until-final.ts'
import { openSession } from '../../session/session.ts'

/** Runs `wait ID...`. The exit code is 1 if a build failed, else 2 if one was terminated; with a status, 1 if one ended with another. */
export async function waitForBuilds(
  invocation: Invocation<{ status: BuildStatus | undefined; timeout: number | undefined; output: 'json' | undefined }>,
): Promise<number> {
  const { args, options, out, settings } = invocation
  const { client } = openSession(settings)
  const signal = options.timeout === undefined ? new AbortController().signal : AbortSignal.timeout(options.timeout * 1000)
  let builds: Build[]
  try {
    builds = await Promise.all(
      args.map((buildId) => untilFinal({ client, buildId, clock: systemClock, signal, status: options.status })),
    )
  } catch (error) {
    if (!signal.aborted) throw error
    throw fault('wait-timeout', {
      message: `Not all builds ${options.status === undefined ? 'ended' : `reached status ${options.status}`} within ${options.timeout} s.`,
      hint: 'Inspect them with `windlass describe build ID`.',
    })
  }
  if (options.output === 'json') {
    const records = builds.map(toRecord)
    out.line(JSON.stringify(records.length === 1 ? records[0] : records, null, 2))
  } else for (const build of builds) out.line(`build/${build.id} ${paintStatus(out.stdout.style, build.status)}`)
  if (options.status !== undefined) return builds.every(({ status }) => status === options.status) ? EXIT.success : EXIT.failed
  return worstOf(builds.map(({ status }) => exitCodeOfBuild(status)))
}

import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession } from '../../session/session.ts'
import { followToEnd } from '../builds/follow-to-end.ts'

interface DecideOptions {
  readonly comment: string | undefined
  readonly follow: boolean
}

/** Runs `approve BUILD [STEP]` and `deny BUILD [STEP]`. */
export async function decideBuild(invocation: Invocation<DecideOptions>, verb: 'approve' | 'deny'): Promise<number> {
  const { args, options, out, settings } = invocation
  const { client } = openSession(settings)
  const [id = '', step] = args
  const build = await client.builds[verb](requireBuildId(id), { step, comment: options.comment })
  out.line(`build/${build.id} ${verb === 'approve' ? 'approved' : 'denied'}`)
  return options.follow ? followToEnd({ client, build, out, mayTerminate: false }) : EXIT.success
}

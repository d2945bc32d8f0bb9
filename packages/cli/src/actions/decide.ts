import { decide } from '../api.ts'
import type { Invocation } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { openSession } from '../session.ts'
import { followToEnd } from './follow-to-end.ts'

interface DecideOptions {
  readonly comment: string | undefined
  readonly follow: boolean
}

/** `approve BUILD [STEP]` and `deny BUILD [STEP]`. */
export async function decideBuild(invocation: Invocation<DecideOptions>, verb: 'approve' | 'deny'): Promise<number> {
  const { args, options, out, settings } = invocation
  const { client } = openSession(settings)
  const [id = '', step] = args
  const build = await decide(client, { id, verb }, { step, comment: options.comment })
  out.line(`build/${build.id} ${verb === 'approve' ? 'approved' : 'denied'}`)
  return options.follow ? followToEnd({ client, build, out, mayTerminate: false }) : EXIT.success
}

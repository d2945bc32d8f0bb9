import { fault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession } from '../../session/session.ts'

/** Runs `confirm-gone BUILD`. Throws `conflict` while the attempt may still run. */
export async function confirmAttemptGone({
  args,
  options,
  out,
  settings,
}: Invocation<{ attempt: number | undefined }>): Promise<void> {
  const { client } = openSession(settings)
  const id = requireBuildId(args[0] ?? '')
  const attempt = options.attempt ?? (await client.builds.get(id)).attempt
  if (attempt === 0) throw fault('not-found', { message: `Build ${id} has no attempt yet.` })
  const { status } = await client.builds.confirmGone(id, attempt)
  out.line(`build/${id}: attempt ${attempt} is gone; the build is ${status}`)
}

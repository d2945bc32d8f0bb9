import type { Invocation } from '../../command.ts'
import { readServerTarget } from './server-target.ts'

/** Runs `server recover-admin`. Prints only the key on standard output, for scripts. */
export async function recover({ options, out, settings }: Invocation<{ data: string | undefined }>): Promise<void> {
  const target = await readServerTarget(settings, options.data)
  const { recoverAdmin } = await import('@windlass/local/archive')
  const { name, owner, token } = await recoverAdmin(target)
  out.note(`Key "${name}" of the admin ${owner} created. It is not shown again:`)
  out.line(token)
}

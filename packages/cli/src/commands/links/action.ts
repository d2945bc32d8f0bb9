import type { LinkCreated } from '@windlass/protocol'
import { defined } from '@windlass/kit/defined'
import type { Invocation } from '../../command.ts'
import { formatTime } from '../../format/time.ts'
import { requireBuildId } from '../../input/build-id.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'

interface ShareOptions {
  readonly days: number | undefined
  readonly output: 'json' | undefined
}

/** Runs `share build ID`. Prints only the link on standard output. */
export async function shareBuild({ args, options, out, settings }: Invocation<ShareOptions>): Promise<void> {
  const { client } = openSession(settings)
  const id = requireBuildId(args[0] ?? '')
  print(out, await client.links.shareBuild(id, defined({ expiresInDays: options.days })), options.output)
}

/** Runs `share badge PIPELINE`. Prints only the address on standard output. */
export async function shareBadge({ args, options, out, settings }: Invocation<ShareOptions>): Promise<void> {
  const { client } = openSession(settings)
  print(out, await client.links.shareBadge(args[0] ?? '', defined({ expiresInDays: options.days })), options.output)
}

function print(out: Printer, link: LinkCreated, output: ShareOptions['output']): void {
  if (output === 'json') return out.line(JSON.stringify(link, null, 2))
  const what = link.kind === 'build' ? 'status and log of the build' : 'the badge'
  const end = link.expiresAt === undefined ? 'until it is deleted' : `until ${formatTime(link.expiresAt)}`
  out.note(`Any person with this link sees ${what} ${end}:`)
  out.line(link.url)
}

import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import type { MailSecurity, MailServer } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatTime } from '../../format/time.ts'
import { readInput } from '../../input/input-files.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'

type Output = 'json' | 'yaml' | undefined

/** Runs `get mail-server`. */
export async function showMailServer({ options, out, settings }: Invocation<{ output: Output }>): Promise<void> {
  await print(out, await openSession(settings).client.mailServer.get(), options.output)
}

interface SetOptions {
  readonly host: string | undefined
  readonly port: number | undefined
  readonly security: MailSecurity | undefined
  readonly username: string | undefined
  readonly passwordFile: string | undefined
  readonly from: string | undefined
  readonly domain: readonly string[]
  readonly caFile: string | undefined
  readonly output: Output
}

/** Runs `set mail-server`. */
export async function setMailServer({ options, out, settings }: Invocation<SetOptions>): Promise<void> {
  const { host, port, security, username, passwordFile, from, domain, caFile } = options
  if (host === undefined || from === undefined)
    throw fault('usage', { message: 'The host or the sender is missing.', hint: 'Add `--host NAME` and `--from ADDRESS`.' })
  const password = passwordFile === undefined ? undefined : readInput(passwordFile).text.replace(/\r?\n$/, '')
  const ca = caFile === undefined ? undefined : readInput(caFile).text
  const server = await openSession(settings).client.mailServer.put({
    host,
    from,
    domains: [...domain],
    ...defined({ port, security, username, password, ca }),
  })
  await print(out, server, options.output)
}

/** Runs `delete mail-server`. */
export async function deleteMailServer({ out, settings }: Invocation<object>): Promise<void> {
  await openSession(settings).client.mailServer.delete()
  out.line('mail-server deleted')
}

async function print(out: Printer, server: MailServer, output: Output): Promise<void> {
  if (output !== undefined) return printValue(out, server, output)
  const facts: [string, string][] = [
    ['Host:', server.host],
    ['Port:', String(server.port)],
    ['Security:', server.security],
    ['User name:', server.username ?? ''],
    ['Password:', server.hasPassword ? 'set' : ''],
    ['From:', server.from],
    ['Domains:', server.domains.join(', ')],
    ['CA:', server.ca === undefined ? '' : 'set'],
    ['Changed:', formatTime(server.updatedAt)],
  ]
  for (const line of alignColumns(facts.filter(([, value]) => value !== ''))) out.line(line)
}

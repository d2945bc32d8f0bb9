import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import { openSession } from '../../session/session.ts'

/** Runs `retry message ID`. */
export async function retryMessage({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const message = await openSession(settings).client.messages.retry(args[0] ?? '')
  if (options.output !== undefined) return printValue(out, message, options.output)
  out.line(`message/${message.id} waiting`)
  out.note(`Show its result with \`windlass get message ${message.id}\`.`)
}

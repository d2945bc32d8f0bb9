import { text as readAll } from 'node:stream/consumers'
import { fault } from '@windlass/kit/faults'
import type { Invocation } from '../../command.ts'
import { findSecret } from '../auth/credentials.ts'
import { openSession } from '../../session/session.ts'

interface Passwords {
  readonly current: string
  readonly password: string
}

/** Runs `set password`. */
export async function changePassword({ out, settings }: Invocation<object>): Promise<void> {
  const { client } = openSession(settings)
  await client.passwords.change(process.stdin.isTTY ? await askPasswords() : readLines(await readAll(process.stdin)))
  out.line('The password was changed.')
}

function readLines(text: string): Passwords {
  const [current, password, ...rest] = text.split(/\r?\n/)
  if (current === undefined || password === undefined || rest.some((line) => line !== ''))
    throw fault('usage', {
      message: 'Standard input must have two lines.',
      hint: 'Write the current password to the first line and the new one to the second.',
    })
  return { current, password }
}

async function askPasswords(): Promise<Passwords> {
  const hint = 'Run the command at a terminal, or write both passwords to its standard input.'
  const askFor = (question: string): Promise<string> => findSecret({ file: undefined, given: undefined, question, hint })
  const current = await askFor('Current password')
  const password = await askFor('New password (at least 12 characters)')
  if ((await askFor('New password again')) !== password)
    throw fault('usage', { message: 'The two new passwords differ.', hint: 'Run the command again.' })
  return { current, password }
}

/** Calls with the public Go SDK of Codefresh, which knows nothing of Windlass. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { runProgram } from '../../support/process.ts'

const Answers = z.array(z.object({ result: z.unknown().optional(), error: z.string().optional() }))
type Answer = z.output<typeof Answers>[number]

/** Makes calls one after the other, each a name of `go-sdk/main.go` and its arguments. Tokens are not on the command line. */
export async function callSdk(url: string, token: string, calls: readonly (readonly string[])[]): Promise<Answer[]> {
  const program = spawn(await findSdk(), [], {
    env: { CF_URL: url, CF_TOKEN: token },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  program.stdin.end(JSON.stringify(calls))
  const [output, [code]] = await Promise.all([text(program.stdout), once(program, 'exit')])
  if (code !== 0) throw new Error(`the program with the Go SDK ended with ${code}`)
  return Answers.parse(JSON.parse(output))
}

/** Returns the compiled program. */
async function findSdk(): Promise<string> {
  const prepared = process.env['GO_SDK']
  if (prepared !== undefined) return prepared
  const line = await runProgram(join(import.meta.dirname, '../../../scripts/go-sdk/build'), [])
  const program = /GO_SDK=(\S+)/.exec(line)?.[1]
  if (program === undefined) throw new Error(`scripts/go-sdk/build said: ${line}`)
  return program
}

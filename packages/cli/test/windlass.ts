/**
 * Runs command lines against the server of a scene, which needs no Docker and no images: in this process, because starting the program takes longer than
 * most commands. `support.ts` starts the program as users do.
 */
import { Writable } from 'node:stream'
import type { HttpScene } from '../../server/test/support/http-scene.ts'
import { readSettings, takeGlobalOptions } from '../src/config.ts'
import { openPrinter } from '../src/printer.ts'
import { runCommandLine } from '../src/program.ts'

interface Finished {
  readonly code: number
  readonly text: string
}

/** Collects what a command writes. */
export class Collected extends Writable {
  readonly #parts: Buffer[] = []

  override _write(part: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#parts.push(part)
    done()
  }

  text(): string {
    return Buffer.concat(this.#parts).toString()
  }
}

/** Runs a command line with the key of the first admin, or another one. Resolves to its exit code and what it wrote, errors last. */
export async function windlass({ server, adminToken }: HttpScene, words: readonly string[], key = adminToken): Promise<Finished> {
  const own = { WINDLASS_URL: server.url, WINDLASS_API_KEY: key, WINDLASS_CONFIG: '/nowhere/config' }
  const { code, stdout, stderr } = await callWindlass(words, { ...process.env, NO_COLOR: '1', ...own })
  return { code, text: stdout + stderr }
}

/** Runs a command line with these variables, without standard input. */
export async function callWindlass(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const { argv, globals } = takeGlobalOptions(words)
  const settings = readSettings(env, globals)
  const [stdout, stderr] = [new Collected(), new Collected()]
  const code = await runCommandLine(argv, { settings, out: openPrinter(settings, { stdout, stderr }) })
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

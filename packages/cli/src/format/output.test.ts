import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { Values } from '../command.ts'
import { getResources } from '../commands/get/action.ts'
import { buildFilterOptions } from '../commands/get/build-filters.ts'
import type { Printer, Terminal } from '../printer.ts'
import { readSettings } from '../config.ts'
import { styleFor } from './style.ts'
import { printValue } from './output.ts'

const HOSTILE = '\u009B2J\u001B[\u00072J\u001B]0;title\u0007'

function memoryPrinter(isTTY: boolean): { out: Printer; text: () => string } {
  let written = ''
  const stdout: Terminal = {
    isTTY,
    columns: 80,
    style: styleFor(false),
    drained: () => Promise.resolve(),
    write: (bytes) => void (written += Buffer.from(bytes).toString()),
  }
  const pipe = { signal: new AbortController().signal, [Symbol.dispose]: () => undefined }
  const out = { stdout, stderr: stdout, line: () => undefined, note: () => undefined, catchClosedPipe: () => pipe }
  return { out, text: () => written }
}

/** Prints a step type of a server with `get -o yaml`. */
async function getManifest(manifest: string, out: Printer): Promise<void> {
  const found = {
    name: 'acme/greet',
    version: '1.0.0',
    description: 'Greets.',
    manifest,
    builtIn: false,
    versions: 1,
    createdAt: 0,
    updatedAt: 0,
  }
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(found))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const settings = readSettings({ WINDLASS_URL: url, WINDLASS_API_KEY: 'id.secret', WINDLASS_CONFIG: '/nowhere/config' })
    const initial = Object.entries(buildFilterOptions).map(([name, option]) => [name, option.initial])
    const filters = Object.fromEntries(initial) as Values<typeof buildFilterOptions>
    const [limit, runner, webhook, repo, version, view] = [undefined, undefined, undefined, undefined, undefined, undefined]
    const [sync, product] = [undefined, undefined]
    const flags = { noHeaders: false, versions: false, history: false } as const
    const options = { output: 'yaml', ...flags, limit, runner, webhook, repo, version, view, sync, product, ...filters } as const
    await getResources({ args: ['step-types', 'acme/greet'], options, out, settings })
  } finally {
    server.close()
  }
}

test('YAML cannot control a terminal, and a pipe receives it unchanged', async () => {
  const [terminal, pipe] = [memoryPrinter(true), memoryPrinter(false)]
  for (const { out } of [terminal, pipe]) await printValue(out, { title: 'a\u009B2Jb', next: 1 }, 'yaml')
  expect(terminal.text()).toBe('title: "a2Jb"\nnext: 1\n')
  expect(pipe.text()).toBe('title: "a\u009B2Jb"\nnext: 1\n')
})

test('the manifest of a step type cannot control a terminal, and a pipe receives it unchanged', async () => {
  const manifest = `kind: step-type\n# ${HOSTILE}\nspec: {}\n`
  const [terminal, pipe] = [memoryPrinter(true), memoryPrinter(false)]
  for (const { out } of [terminal, pipe]) await getManifest(manifest, out)
  expect(terminal.text()).toBe('kind: step-type\n# 2J2J\nspec: {}\n')
  expect(pipe.text()).toBe(manifest)
})

/** The modules of a Go program, from the record that the linker writes into it (`go version -m` prints the same). */
import type { Component } from './component.ts'

const MAGIC = Buffer.from('\xff Go buildinf:', 'latin1')
const HEADER_BYTES = 32
/** Set in the flags of Go 1.18 and later: version and modules follow the header. */
const INLINE = 2
const SENTINEL_BYTES = 16

/** Returns the modules of a program; nothing if it is not a program of Go 1.18 or later. */
export function goModules(program: Buffer): Component[] {
  const start = program.indexOf(MAGIC)
  if (start === -1 || ((program[start + MAGIC.length + 1] ?? 0) & INLINE) === 0) return []
  const version = readText(program, start + HEADER_BYTES)
  const record = readText(program, version.end)
  const lines = record.bytes.subarray(SENTINEL_BYTES, -SENTINEL_BYTES).toString().split('\n')
  const found: Component[] = [goModule('stdlib', version.bytes.toString().split(' ')[0] ?? '')]
  for (const line of lines) {
    const [kind, path, release] = line.split('\t')
    if (path === undefined || release === undefined) continue
    if (kind === '=>') found.pop()
    if (kind === '=>' || kind === 'dep' || (kind === 'mod' && release !== '(devel)')) found.push(goModule(path, release))
  }
  return found
}

function goModule(path: string, version: string): Component {
  return { name: path, version, purl: `pkg:golang/${path.toLowerCase()}@${encodeURIComponent(version)}` }
}

/** Reads a text that follows its length, a variable-length integer. */
function readText(program: Buffer, at: number): { readonly bytes: Buffer; readonly end: number } {
  let [length, shift, start] = [0, 0, at]
  for (;;) {
    const byte = program[start] ?? 0
    start += 1
    length += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) break
    shift += 7
  }
  return { bytes: program.subarray(start, start + length), end: start + length }
}

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Demultiplexer } from './demux.ts'

const frames = fc.array(fc.record({ source: fc.constantFrom(1 as const, 2 as const), bytes: fc.uint8Array({ maxLength: 40 }) }), {
  maxLength: 10,
})

function multiplex(list: readonly { source: 1 | 2; bytes: Uint8Array }[]): Buffer {
  return Buffer.concat(
    list.flatMap(({ source, bytes }) => {
      const header = Buffer.alloc(8)
      header[0] = source
      header.writeUInt32BE(bytes.length, 4)
      return [header, Buffer.from(bytes)]
    }),
  )
}

test('separates both outputs completely and in order for any chunking', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 30 }), (list, sizes) => {
      const wire = multiplex(list)
      const demultiplexer = new Demultiplexer()
      const out: { 1: Buffer[]; 2: Buffer[] } = { 1: [], 2: [] }
      let position = 0
      for (const size of [...sizes, wire.length]) {
        for (const { source, bytes } of demultiplexer.push(wire.subarray(position, position + size))) out[source].push(bytes)
        position += size
      }
      for (const source of [1, 2] as const) {
        const expected = Buffer.concat(list.filter((frame) => frame.source === source).map(({ bytes }) => Buffer.from(bytes)))
        expect(Buffer.concat(out[source]).equals(expected)).toBe(true)
      }
      expect(demultiplexer.isWhole).toBe(true)
    }),
  )
})

test('joins neighboring frames of one output in a chunk', () => {
  const of = (source: 1 | 2, text: string): { source: 1 | 2; bytes: Buffer } => ({ source, bytes: Buffer.from(text) })
  const wire = multiplex([of(1, 'a'), of(1, 'b'), of(2, 'c'), of(2, ''), of(2, 'd'), of(1, 'e')])
  expect(new Demultiplexer().push(wire)).toEqual([of(1, 'ab'), of(2, 'cd'), of(1, 'e')])
})

test('detects a connection that closes in the middle of a frame', () => {
  const wire = multiplex([{ source: 1, bytes: Buffer.from('hello') }])
  const cut = new Demultiplexer()
  cut.push(wire.subarray(0, wire.length - 1))
  expect(cut.isWhole).toBe(false)
  const header = new Demultiplexer()
  header.push(wire.subarray(0, 3))
  expect(header.isWhole).toBe(false)
})

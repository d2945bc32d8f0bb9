/** A tar archive (POSIX ustar) of texts. Pure. */
const BLOCK = 512

/** The archive's bytes; paths of at most 255 characters. Times are those of the Unix epoch, so that the same files give the same bytes. */
export function toTar(files: ReadonlyMap<string, string>): Buffer {
  const parts: Buffer[] = []
  for (const [path, text] of files) {
    const body = Buffer.from(text)
    parts.push(header(path, body.length), body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK))
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)])
}

function header(path: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  const [prefix, name] = splitPath(path)
  block.write(name, 0, 100)
  block.write('0000600\0', 100)
  block.write('0000000\0', 108)
  block.write('0000000\0', 116)
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  block.write('00000000000\0', 136)
  // The checksum counts itself as eight blanks.
  block.write('        ', 148)
  block.write('0', 156)
  block.write('ustar\0' + '00', 257)
  block.write(prefix, 345, 155)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/** A long path is cut at a slash: up to 155 characters before it, 100 behind. */
function splitPath(path: string): readonly [string, string] {
  if (Buffer.byteLength(path) <= 100) return ['', path]
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1))
    if (path.length - at - 1 <= 100 && at <= 155) return [path.slice(0, at), path.slice(at + 1)]
  return ['', path.slice(-100)]
}

/**
 * A name server on the loopback interface, which speaks DNS over UDP (RFC 1035, 4) as far as a resolver asks for addresses. It stands in for that of a cluster, so
 * that the resolver of the router is asked as in a cluster, with its own rules of TTLs, failures and absent names.
 */
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'

const TYPES = { A: 1, AAAA: 28 } as const
const CODES = { found: 0, failed: 2, absent: 3 } as const

interface Answer {
  readonly addresses: readonly string[]
  /** Seconds. */
  readonly ttl: number
}

export interface NameServer extends AsyncDisposable {
  /** With its port. */
  readonly address: string
  /** Names that were asked for, once for each question. */
  readonly asked: string[]
  /** Sets the addresses of a name, of IPv4 or as hexadecimal groups of IPv6. */
  set(name: string, addresses: readonly string[], ttl?: number): void
  /** Answers questions about a name with a failure. */
  fail(name: string): void
}

export async function startNameServer(): Promise<NameServer> {
  const answers = new Map<string, Answer | 'failed'>()
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query: Buffer, { port, address }: RemoteInfo) => {
    const question = readQuestion(query)
    asked.push(question.name)
    socket.send(toReply(query, question, answers.get(question.name)), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    set: (name, addresses, ttl = 30) => void answers.set(name, { addresses, ttl }),
    fail: (name) => void answers.set(name, 'failed'),
    async [Symbol.asyncDispose]() {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    },
  }
}

interface Question {
  readonly name: string
  readonly type: number
  /** Offset after it. */
  readonly end: number
}

/** Labels with their lengths from byte 12, an empty one, type and class. */
function readQuestion(query: Buffer): Question {
  const labels: string[] = []
  let at = 12
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function toReply(query: Buffer, { type, end }: Question, answer: Answer | 'failed' | undefined): Buffer {
  const code = answer === 'failed' ? CODES.failed : answer === undefined ? CODES.absent : CODES.found
  const records = answer === 'failed' || answer === undefined ? [] : recordsOf(answer, type)
  const head = Buffer.alloc(12)
  query.copy(head, 0, 0, 2)
  // A response with authority, recursion asked for and available.
  head.writeUInt16BE(0x8580 | code, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records.length, 6)
  return Buffer.concat([head, query.subarray(12, end), ...records])
}

function recordsOf({ addresses, ttl }: Answer, type: number): Buffer[] {
  const isOfType = (address: string): boolean => (address.includes(':') ? TYPES.AAAA : TYPES.A) === type
  return addresses.filter(isOfType).map((address) => {
    const data = address.includes(':')
      ? Buffer.from(
          address
            .split(':')
            .map((group) => group.padStart(4, '0'))
            .join(''),
          'hex',
        )
      : Buffer.from(address.split('.').map(Number))
    const head = Buffer.alloc(12)
    // The name is that of the question.
    head.writeUInt16BE(0xc00c, 0)
    head.writeUInt16BE(type, 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt32BE(ttl, 6)
    head.writeUInt16BE(data.length, 10)
    return Buffer.concat([head, data])
  })
}

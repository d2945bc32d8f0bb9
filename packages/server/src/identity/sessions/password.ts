/** Hashes of passwords: Argon2id of Node, in the PHC format, so that the parameters can change without a migration. */
import * as crypto from 'node:crypto'
import { promisify } from 'node:util'
import { fault } from '@windlass/kit'

/** Memory in KiB, passes and lanes: the recommendation of OWASP. One hash takes about 40 ms of one processor. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Hashes at once, which limits their memory to 40 MiB and leaves threads for the files of logs. */
const AT_ONCE = 2
/** Hashes that wait for their turn. Further ones are refused. */
const MAX_WAITING = 50

interface Parts {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
  readonly salt: Buffer
  readonly hash: Buffer
}

const waiting: (() => void)[] = []
let running = 0

/** Runs one of a few hashes at once. Throws `rate-limited` if too many wait. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) {
    if (waiting.length >= MAX_WAITING) throw fault('rate-limited', { retryAfter: 1 })
    const turn = Promise.withResolvers<void>()
    waiting.push(turn.resolve)
    await turn.promise
  } else running += 1
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
}

function hashWith(password: string, { salt, hash, ...cost }: Parts): Promise<Buffer> {
  // The same text can be typed as different code points.
  const message = password.normalize('NFKC')
  // Read here, because Node has it since 24.7, and servers without passwords run on older ones.
  return inTurn(() => promisify(crypto.argon2)('argon2id', { message, nonce: salt, tagLength: hash.length, ...cost }))
}

/** Hashes a new password. */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.randomBytes(SALT_BYTES)
  const hash = await hashWith(password, { ...COST, salt, hash: Buffer.alloc(HASH_BYTES) })
  return format({ ...COST, salt, hash })
}

function format({ memory, passes, parallelism, salt, hash }: Parts): string {
  const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`
}

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

function parse(text: string): Parts {
  const [, memory, passes, parallelism, salt = '', hash = ''] = PHC.exec(text) ?? []
  if (hash === '') throw new Error('a stored password hash is not in the PHC format of Argon2id')
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}

/** Stands for the password of a user that does not exist, so that the answer takes as long. */
const NO_PASSWORD: Parts = { ...COST, salt: Buffer.alloc(SALT_BYTES), hash: Buffer.alloc(HASH_BYTES) }

/** Returns true if the password matches the stored hash. Takes as long without a hash, and then returns false. */
export async function passwordMatches(password: string, stored: string | null | undefined): Promise<boolean> {
  const parts = stored === null || stored === undefined ? NO_PASSWORD : parse(stored)
  const hash = await hashWith(password, parts)
  return crypto.timingSafeEqual(hash, parts.hash) && parts !== NO_PASSWORD
}

/** Returns true if the hash was made with other parameters than a new one. */
export function isOutdated(stored: string): boolean {
  const { memory, passes, parallelism } = parse(stored)
  return memory !== COST.memory || passes !== COST.passes || parallelism !== COST.parallelism
}

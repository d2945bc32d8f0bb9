/** What callers are told about calls that got no answer. */
import { fault, type Fault } from '@windlass/kit'
import type { Outcome } from '../exchange/exchange.ts'

const offline = (): Fault => fault('tunnel-offline')
const broken = (): Fault => fault('tunnel-broken')

/** The fault of an outcome; absent if the caller has an answer, or has left. */
export const FAULTS: Readonly<Partial<Record<Outcome, () => Fault>>> = {
  lost: offline,
  broken,
  idle: broken,
  path: () => fault('tunnel-path'),
  unreachable: () => fault('tunnel-router'),
}

export function unknownHost(host = 'this address'): Fault {
  return fault('not-found', { message: `No GitOps runtime is at ${host}.`, hint: 'List the hosts with `windlass get tunnels`.' })
}

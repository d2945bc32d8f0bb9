/** Methods of groups of routes on a client. */
import { tolerant, type Client } from '@windlass/protocol'
import { bindCalls, type Calls } from './calls.ts'
import type { Route } from './route.ts'

type RouteGroups = Readonly<Record<string, Readonly<Record<string, Route>>>>

/** The methods of each group, by its name. */
export type Groups<R extends RouteGroups> = { readonly [G in keyof R]: Calls<R[G]> }

/** Returns the methods of groups. Answers are read with `tolerant`: a newer server may return a state or reason that the types do not list. */
export function bindGroups<R extends RouteGroups>(client: Client, groups: R): Groups<R> {
  const bound = Object.entries(groups).map(([name, routes]) => [name, bindCalls(client, routes, tolerant)])
  return Object.fromEntries(bound) as Groups<R>
}

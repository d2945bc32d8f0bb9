/**
 * The one event stream of this tab. Screens name the topics that they follow; the stream is opened again whenever the topics change. The new stream
 * starts at the cursor of the old one, which closes once the new one is open, so that nothing is missed. The first one starts at the cursor of the session,
 * which is older than what the page has read. Events can repeat. A hidden tab closes its stream.
 */
import { isFault } from '@windlass/kit/faults'
import { parseStreamTopic, STREAM_EVENTS, tolerant, type StreamEvent, type StreamEventName } from '@windlass/protocol'
import { useEffect, useEffectEvent, useId } from 'react'
import { client } from './client.ts'
import { queries } from './queries.ts'
import { queryClient } from './query-client.ts'
import { createStore, useStore } from './store.ts'

/** `live`: changes arrive. `off`: the tab is hidden, or the server has no stream. */
export type Liveness = 'connecting' | 'live' | 'off'

type Listener = (event: StreamEvent) => void

const HIDDEN_MS = 30_000
const SHORTEST_WAIT_MS = 500
const LONGEST_WAIT_MS = 5_000
/** Wait after a refusal that the same server would repeat. Milliseconds. */
const PERMANENT_WAIT_MS = 60_000
/** Faults that another try does not change. The sign-in ends `unauthenticated`. */
const PERMANENT: ReadonlySet<string> = new Set(['unauthenticated', 'forbidden', 'not-found', 'not-supported', 'request-invalid'])

const liveness = createStore<Liveness>('connecting')
const followed = new Map<string, { readonly topics: readonly string[]; readonly listen: Listener }>()
/** Sees each event of the stream, also those of topics that no screen follows any more. */
const observers = new Set<Listener>()

let cursor: string | undefined
let open: { readonly key: string; readonly abort: AbortController } | undefined
let wait = SHORTEST_WAIT_MS
let retryTimer: ReturnType<typeof setTimeout> | undefined
let isStopped = false
let tellTabs = (): void => undefined

/** Returns the wanted topics, one for each key, with the earliest position that a screen wants. */
function wantedTopics(): string[] {
  const earliest = new Map<string, string>()
  for (const topic of [...followed.values()].flatMap(({ topics }) => topics)) {
    const parsed = parseStreamTopic(topic)
    if (parsed === undefined) continue
    const known = parseStreamTopic(earliest.get(parsed.key) ?? '')
    if (known === undefined || positionOf(parsed) < positionOf(known)) earliest.set(parsed.key, topic)
  }
  return [...earliest.values()].toSorted()
}

function positionOf(topic: NonNullable<ReturnType<typeof parseStreamTopic>>): number {
  return topic.kind === 'account' ? 0 : topic.position
}

let isPlanned = false
/** Opens the stream for the topics that are wanted once the current rendering is done. */
function plan(): void {
  if (isPlanned) return
  isPlanned = true
  queueMicrotask(() => {
    isPlanned = false
    connect()
  })
}

function connect(): void {
  const topics = wantedTopics()
  const key = topics.join('\n')
  if (isStopped || topics.length === 0) {
    close()
    liveness.set('off')
    return
  }
  if (open?.key === key) return
  const before = open
  open = { key, abort: new AbortController() }
  clearTimeout(retryTimer)
  if (before === undefined) tellTabs()
  void follow(topics, open.abort, before?.abort)
}

function close(): void {
  clearTimeout(retryTimer)
  open?.abort.abort()
  open = undefined
}

async function follow(topics: readonly string[], own: AbortController, before: AbortController | undefined): Promise<void> {
  try {
    cursor ??= queryClient.getQueryData(queries.session().queryKey)?.cursor
    const events = client.server.stream({ query: { topic: [...topics], cursor }, signal: own.signal })
    for await (const { event, data, id } of events) {
      before?.abort()
      wait = SHORTEST_WAIT_MS
      const read = readEvent(event, data, id)
      if (read === undefined) continue
      cursor = read.id
      liveness.set('live')
      hand(read)
    }
    reopen(own)
  } catch (error) {
    before?.abort()
    if (own.signal.aborted) return
    // A proxy answers for a server that is away.
    if (isFault(error) && PERMANENT.has(error.code) && error.details.foreign !== true) {
      if (error.code === 'unauthenticated') void queryClient.invalidateQueries({ queryKey: ['session'] })
      liveness.set('off')
      // The next call of `connect` opens the same topics again.
      if (open?.abort === own) open = undefined
      // A replica of an earlier version may not know a topic. Another one answers later.
      if (error.code !== 'unauthenticated') retryTimer = setTimeout(connect, PERMANENT_WAIT_MS)
      return
    }
    reopen(own)
  }
}

/** Opens the stream again after a wait, unless another one has taken its place. */
function reopen(own: AbortController): void {
  if (open?.abort !== own) return
  open = undefined
  liveness.set('connecting')
  retryTimer = setTimeout(connect, wait * (0.5 + Math.random() / 2))
  wait = Math.min(wait * 2, LONGEST_WAIT_MS)
}

/** Returns a known event with its data checked. A newer server may send others. */
function readEvent(event: string, data: string, id: string | undefined): StreamEvent | undefined {
  if (!Object.hasOwn(STREAM_EVENTS, event) || id === undefined) return undefined
  const parsed = tolerant(STREAM_EVENTS[event as StreamEventName]).safeParse(JSON.parse(data))
  return parsed.success ? ({ event, id, data: parsed.data } as StreamEvent) : undefined
}

function hand(event: StreamEvent): void {
  for (const observe of observers) observe(event)
  const topic = 'topic' in event.data ? event.data.topic : undefined
  for (const { topics, listen } of followed.values())
    if (topic === undefined || topics.some((one) => parseStreamTopic(one)?.key === topic)) listen(event)
}

/** Calls `observe` with each event. Returns a function that ends this. */
export function observeStream(observe: Listener): () => void {
  observers.add(observe)
  return () => observers.delete(observe)
}

/** Follows topics until the returned function is called, outside of components. */
export function followTopics(id: string, topics: readonly string[], listen: Listener): () => void {
  followed.set(id, { topics, listen })
  plan()
  return () => {
    followed.delete(id)
    plan()
  }
}

/**
 * Follows topics while the component is mounted, such as `['account']` or `[`build:${id}:0`]`. `listen` gets the events of these topics and `open`; it
 * may be another function in each rendering. Events can repeat: drop what is already known by its position.
 */
export function useTopics(topics: readonly string[], listen: Listener): void {
  const id = useId()
  const key = topics.join('\n')
  const onEvent = useEffectEvent(listen)
  useEffect(() => (key === '' ? undefined : followTopics(id, key.split('\n'), (event) => onEvent(event))), [id, key])
}

/** Returns whether changes arrive by themselves. */
export function useLiveness(): Liveness {
  return useStore(liveness)
}

/** Promises that need the stream in a hidden tab too. */
const promises = new Set<symbol>()
let hiddenTimer: ReturnType<typeof setTimeout> | undefined

/** Keeps the stream open while the tab is hidden, until the returned function is called. */
export function keepStreamOpen(): () => void {
  const promise = Symbol('promise')
  promises.add(promise)
  return () => {
    promises.delete(promise)
    if (document.visibilityState === 'hidden') stopLater()
  }
}

function stopLater(): void {
  clearTimeout(hiddenTimer)
  hiddenTimer = setTimeout(stop, HIDDEN_MS)
}

/** Closes the stream, unless a promise needs it. */
function stop(): void {
  isStopped = promises.size === 0
  plan()
}

/** Calls `read` with the liveness now and after each change. Returns a function that ends this. */
export function observeLiveness(read: (liveness: Liveness) => void): () => void {
  read(liveness.get())
  return liveness.subscribe(() => read(liveness.get()))
}

/** Name of the channel on which tabs of this server tell that they open their stream. */
const TABS = 'windlass.streams'

/**
 * Begins to close the stream of a hidden tab: after 30 seconds, or at once when another tab opens its stream, because browsers allow few connections
 * to a server. A tab that is opened in the background has no stream until it is shown. Called once by the page.
 */
export function watchVisibility(): void {
  const isHidden = (): boolean => document.visibilityState !== 'visible'
  isStopped = isHidden()
  const tabs = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel(TABS)
  tabs?.addEventListener('message', () => isHidden() && stop())
  tellTabs = () => tabs?.postMessage('opens')
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hiddenTimer)
    if (isHidden()) return stopLater()
    isStopped = false
    plan()
  })
}

/** Forgets the cursor and opens the stream again, after another user has signed in. */
export function startStreamAnew(): void {
  cursor = undefined
  restartStream()
}

/** Opens the stream again. */
export function restartStream(): void {
  close()
  plan()
}

/** Keys of the page. Each screen names its own; the help lists those that are active. */
import { useEffect, useEffectEvent } from 'react'
import { createStore, useStore } from '../server/store.ts'

export interface Shortcut {
  /** `e`, `Shift+x`, `g b` or `Ctrl+k`. Ctrl is also ⌘. */
  readonly keys: string
  readonly does: string
  readonly run: () => void
}

export interface ShortcutGroup {
  readonly name: string
  readonly shortcuts: readonly Shortcut[]
}

const KEY = 'windlass.single-keys'
const groups = createStore<readonly ShortcutGroup[]>([])
/** False if single keys are switched off in this browser. Keys with Ctrl always work. */
export const singleKeys = createStore(readSingleKeys())

function readSingleKeys(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off'
  } catch {
    return true
  }
}

/** Switches single keys on or off, and keeps the choice. */
export function setSingleKeys(isOn: boolean): void {
  singleKeys.set(isOn)
  try {
    localStorage.setItem(KEY, isOn ? 'on' : 'off')
  } catch {
    // The choice holds until the page is closed.
  }
}

/** Returns the groups of keys that are active. */
export function useShortcutGroups(): readonly ShortcutGroup[] {
  return useStore(groups)
}

/** Makes keys work while the component is mounted. The last component that names a key gets it. */
export function useShortcuts(name: string, shortcuts: readonly Shortcut[]): void {
  const keys = shortcuts.map((one) => `${one.keys}\t${one.does}`).join('\n')
  const run = useEffectEvent((index: number) => shortcuts[index]?.run())
  useEffect(() => {
    const group = {
      name,
      shortcuts: keys.split('\n').flatMap((line, index) => {
        const [one = '', does = ''] = line.split('\t')
        return one === '' ? [] : [{ keys: one, does, run: () => run(index) }]
      }),
    }
    groups.set([...groups.get(), group])
    return () => groups.set(groups.get().filter((other) => other !== group))
  }, [name, keys])
}

const SEQUENCE_MS = 1_200
let first: { readonly key: string; readonly at: number } | undefined

/** Returns the name of a pressed key as shortcuts write it. */
export function nameOfKey(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>): string {
  const control = event.ctrlKey || event.metaKey ? 'Ctrl+' : ''
  const alt = event.altKey ? 'Alt+' : ''
  const isLetter = /^[a-z]$/i.test(event.key)
  const shift = event.shiftKey && isLetter ? 'Shift+' : ''
  return control + alt + shift + (isLetter ? event.key.toLowerCase() : event.key)
}

/** Kinds of `input` that take no characters. */
const WITHOUT_TEXT: ReadonlySet<string> = new Set(['checkbox', 'radio', 'button', 'submit'])

/** Returns true in fields, also in those of a shadow root, whose events name only their host. */
function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath()
  if (target instanceof HTMLInputElement) return !WITHOUT_TEXT.has(target.type)
  return target instanceof HTMLElement && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName))
}

/** Elements that act on Enter themselves. */
const PRESSABLE = 'a[href], button, summary, [role="option"], [role="menuitem"]'

function isPressed(event: KeyboardEvent): boolean {
  return event.key === 'Enter' && event.target instanceof Element && event.target.closest(PRESSABLE) !== null
}

/** Keys that move through something, and do so as long as they are held. Others act once. */
const MOVES = /^(?:[jk]|(?:Shift\+)?(?:[ne]|ArrowDown|ArrowUp))$/

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || isPressed(event)) return
  const key = nameOfKey(event)
  // Escape and Enter are not characters, so the switch for single keys does not concern them.
  const isSingle = !key.startsWith('Ctrl+') && !key.startsWith('Alt+')
  const isCharacter = isSingle && Array.from(event.key).length === 1
  const isCovered = document.querySelector('[role="dialog"], [role="menu"]') !== null
  if (isSingle && ((isCharacter && !singleKeys.get()) || isTyping(event) || isCovered)) return
  const sequence = first !== undefined && event.timeStamp - first.at < SEQUENCE_MS ? `${first.key} ${key}` : undefined
  const all = groups
    .get()
    .flatMap(({ shortcuts }) => shortcuts)
    .toReversed()
  const found = all.find(({ keys }) => keys === sequence) ?? all.find(({ keys }) => keys === key)
  const begins = found === undefined && all.some(({ keys }) => keys.startsWith(`${key} `))
  first = begins ? { key, at: event.timeStamp } : undefined
  if (found === undefined) return
  event.preventDefault()
  if (!event.repeat || MOVES.test(found.keys)) found.run()
}

/** Begins to listen to keys. Called once by the page. */
export function listenToKeys(): void {
  document.addEventListener('keydown', onKey)
}

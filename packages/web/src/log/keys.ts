/** Keys of a log. They work while the log or nothing has the focus. */
import { useEffect, useEffectEvent } from 'react'
import { useShortcuts, type Shortcut } from '../shell/shortcuts.ts'

export interface LogActions {
  readonly search: () => void
  readonly line: () => void
  readonly match: (step: 1 | -1) => void
  /** Absent if the log has no problem, or its keys another meaning. */
  readonly problem: ((step: 1 | -1) => void) | undefined
  readonly onlyNew: () => void
  readonly start: () => void
  readonly end: () => void
  readonly wrap: () => void
  readonly times: () => void
  readonly follow: () => void
  readonly fold: () => void
  readonly extend: (step: 1 | -1) => void
  readonly copy: () => void
  readonly isInView: () => boolean
}

/** Makes the keys work while the log is shown. */
export function useLogKeys(actions: LogActions): void {
  const { problem } = actions
  const shortcuts: readonly Shortcut[] = [
    { keys: '/', does: 'Search the log', run: actions.search },
    { keys: 'n', does: 'Next match', run: () => actions.match(1) },
    { keys: 'Shift+n', does: 'Match before', run: () => actions.match(-1) },
    ...(problem === undefined
      ? []
      : [
          { keys: 'e', does: 'Next problem', run: () => problem(1) },
          { keys: 'Shift+e', does: 'Problem before', run: () => problem(-1) },
        ]),
    { keys: 'b', does: 'Show only what is new', run: actions.onlyNew },
    { keys: ':', does: 'Go to a line', run: actions.line },
    { keys: 'Home', does: 'Show the first line', run: actions.start },
    { keys: 'End', does: 'Show the last line and follow', run: actions.end },
    { keys: 'w', does: 'Wrap long lines', run: actions.wrap },
    { keys: 'o', does: 'Change the times', run: actions.times },
    { keys: 'f', does: 'Follow the output', run: actions.follow },
    { keys: 'z', does: 'Close or open the folds', run: actions.fold },
    { keys: 'Shift+ArrowDown', does: 'Mark one more line below', run: () => actions.extend(1) },
    { keys: 'Shift+ArrowUp', does: 'Mark one more line above', run: () => actions.extend(-1) },
  ]
  useShortcuts('Log', shortcuts)
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || !actions.isInView()) return
    const hasControl = event.ctrlKey || event.metaKey
    // The second Ctrl-F comes from the field of the search, and opens the search of the browser.
    if (hasControl && event.key === 'f') take(event, actions.search)
    else if (hasControl && event.key === 'c' && getSelection()?.isCollapsed === true) take(event, actions.copy)
    else if (event.shiftKey && event.key === 'ArrowDown') take(event, () => actions.extend(1))
    else if (event.shiftKey && event.key === 'ArrowUp') take(event, () => actions.extend(-1))
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => onKey(event)
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}

function take(event: KeyboardEvent, run: () => void): void {
  if (event.target instanceof HTMLInputElement) return
  event.preventDefault()
  run()
}

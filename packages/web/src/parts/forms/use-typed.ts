/** The text of a field whose value is kept elsewhere, such as in the address. */
import { useEffect, useEffectEvent, useState } from 'react'

/**
 * Returns the text of the field and its setter. `onSettled` gets the text without the spaces around it after a pause in the typing. A value that changes
 * elsewhere, by the back button for example, replaces what is typed.
 */
export function useTyped(
  value: string,
  ms: number,
  onSettled: (text: string) => void,
): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState(value)
  const [known, setKnown] = useState(value)
  if (value !== known) {
    setKnown(value)
    // A value that equals the text is the one that `onSettled` got.
    if (value !== typed.trim()) setTyped(value)
  }
  const settle = useEffectEvent(onSettled)
  useEffect(() => {
    const text = typed.trim()
    if (text === value) return undefined
    const timer = setTimeout(() => settle(text), ms)
    return () => clearTimeout(timer)
  }, [typed, value, ms])
  return [typed, setTyped]
}

/** Copies texts, and shows commands that can be copied. */
import { Check, Copy } from 'lucide-react'
import { useEffect, useState, type ReactElement } from 'react'
import { IconButton } from './button.tsx'
import styles from './parts.module.css'

const SHOWN_MS = 1_500

/** A button that copies a text. The browser allows it only in pages with TLS or on this machine; elsewhere it selects nothing and says so. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }): ReactElement {
  const [said, setSaid] = useState<string>()
  useEffect(() => {
    if (said === undefined) return undefined
    const timer = setTimeout(() => setSaid(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [said])
  const copy = async (): Promise<void> => setSaid((await copyText(text)) ? 'Copied' : 'The browser does not allow copying here')
  return (
    <IconButton label={said ?? label} onClick={() => void copy()}>
      {said === 'Copied' ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
    </IconButton>
  )
}

/** Copies a text. Returns false if the browser does not allow it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** A command of the command line, which can be copied. */
export function Command({ text }: { readonly text: string }): ReactElement {
  return (
    <div className={styles['command']}>
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} label="Copy the command" />
    </div>
  )
}

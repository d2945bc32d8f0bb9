/** Short messages about what was done. They are told to screen readers and go by themselves, except problems and those with an action. */
import { X } from 'lucide-react'
import type { ReactElement } from 'react'
import { Button, IconButton } from '../parts/button.tsx'
import { copyText } from '../parts/copy.tsx'
import { toProblem } from '../parts/problem.tsx'
import { createStore, useStore } from '../server/store.ts'
import styles from './shell.module.css'

export interface Toast {
  readonly text: string
  readonly tone?: 'bad'
  readonly action?: { readonly label: string; readonly run: () => void }
}

interface Shown extends Toast {
  readonly id: number
}

const SHOWN_MS = 6_000
const MOST = 3
const toasts = createStore<readonly Shown[]>([])
let last = 0

/** Shows a message. */
export function tell(toast: Toast): void {
  last += 1
  const id = last
  toasts.set([...toasts.get().filter(({ text }) => text !== toast.text), { ...toast, id }].slice(-MOST))
  if (toast.action === undefined && toast.tone !== 'bad') setTimeout(() => close(id), SHOWN_MS)
}

/** Shows what went wrong and what can be done. */
export function tellProblem(error: unknown): void {
  const { message, hint } = toProblem(error)
  tell({ text: hint === '' ? message : `${message} ${hint}`, tone: 'bad' })
}

/** Copies a text and says so. `what` is its name in the sentence, such as `the address`. */
export async function copyAndTell(text: string, what: string): Promise<void> {
  const isDone = await copyText(text)
  tell({ text: isDone ? `Copied ${what}.` : 'The browser does not allow copying here.' })
}

function close(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id))
}

/** The place of the messages, once in the page. */
export function Toasts(): ReactElement {
  return (
    <div className={styles['toasts']} role="status" aria-live="polite">
      {useStore(toasts).map(({ id, text, tone, action }) => (
        <div key={id} className={styles['toast']} data-tone={tone}>
          <p>{text}</p>
          {action !== undefined && (
            <Button small onClick={action.run}>
              {action.label}
            </Button>
          )}
          <IconButton label="Close the message" onClick={() => close(id)}>
            <X size={16} aria-hidden />
          </IconButton>
        </div>
      ))}
    </div>
  )
}

/** A secret that is shown once, after it was made. */
import type { ReactElement, ReactNode } from 'react'
import { Command } from './copy.tsx'
import layout from './layout.module.css'

interface ShownOnceProps {
  readonly title: string
  /** What to do with it. */
  readonly children?: ReactNode
  readonly parts: readonly { readonly label: string; readonly text: string }[]
}

export function ShownOnce({ title, children, parts }: ShownOnceProps): ReactElement {
  return (
    <section className={layout['once']} aria-label={title}>
      <strong>{title}</strong>
      {children !== undefined && <p>{children}</p>}
      {parts.map(({ label, text }) => (
        <div key={label} role="group" aria-label={label}>
          <span>{label}</span>
          <Command text={text} />
        </div>
      ))}
    </section>
  )
}

/** The anchor of Windlass in the accent color of the theme. */
import type { ReactElement } from 'react'

export function Logo({ size }: { readonly size: number }): ReactElement {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="var(--accent)"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden
    >
      <path d="M8 1.5v13M3 9.5c0 3 2.2 5 5 5s5-2 5-5M5.5 5h5" />
      <circle cx="8" cy="2.6" r="1.4" />
    </svg>
  )
}

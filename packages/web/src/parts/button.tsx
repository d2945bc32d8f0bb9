/** Buttons and links that look like them. */
import type { ComponentProps, MouseEvent, ReactElement, ReactNode } from 'react'
import { Link } from 'wouter'
import styles from './button.module.css'
import { Tooltip } from './tooltip.tsx'

export type ButtonTone = 'plain' | 'primary' | 'danger' | 'quiet'

interface Common {
  readonly tone?: ButtonTone
  readonly icon?: ReactNode
  readonly small?: boolean
}

export interface ButtonProps extends Common, Omit<ComponentProps<'button'>, 'className' | 'style'> {
  /** The reason why the button does nothing now, shown as its tooltip. The button can still have the focus. */
  readonly off?: string | undefined
  /** True while its call is under way. */
  readonly isBusy?: boolean
}

/** A button. Its text is a verb with its object. */
export function Button({
  tone = 'plain',
  icon,
  small = false,
  off,
  isBusy = false,
  children,
  onClick,
  ...rest
}: ButtonProps): ReactElement {
  const isOff = off !== undefined || isBusy
  const button = (
    <button
      type="button"
      {...rest}
      className={styles['button']}
      data-tone={tone}
      data-small={small}
      aria-disabled={isOff || undefined}
      aria-busy={isBusy || undefined}
      onClick={(event: MouseEvent<HTMLButtonElement>) => (isOff ? event.preventDefault() : onClick?.(event))}
    >
      {icon}
      {children}
    </button>
  )
  return off === undefined ? button : <Tooltip text={off}>{button}</Tooltip>
}

/** A button with only an icon. */
export function IconButton({ label, children, ...rest }: Omit<ButtonProps, 'icon'> & { readonly label: string }): ReactElement {
  return (
    <Tooltip text={rest.off ?? label}>
      <button
        type="button"
        {...omitOff(rest)}
        className={styles['icon']}
        aria-label={label}
        aria-disabled={rest.off !== undefined || undefined}
        onClick={rest.off === undefined ? rest.onClick : undefined}
      >
        {children}
      </button>
    </Tooltip>
  )
}

function omitOff({
  off: _off,
  isBusy: _isBusy,
  small: _small,
  tone: _tone,
  ...rest
}: Partial<ButtonProps>): ComponentProps<'button'> {
  return rest
}

/** A link of the page that looks like a button. */
export function ButtonLink({
  href,
  tone = 'plain',
  icon,
  small = false,
  children,
}: Common & { readonly href: string; readonly children: ReactNode }): ReactElement {
  return (
    <Link href={href} className={styles['button'] ?? ''} data-tone={tone} data-small={small}>
      {icon}
      {children}
    </Link>
  )
}

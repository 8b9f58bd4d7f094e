//! `math.h`

macro_rules! functions {
    ($($name:ident($($argument:ident),*);)*) => {
        $(#[unsafe(no_mangle)]
        extern "C" fn $name($($argument: f64),*) -> f64 {
            libm::$name($($argument),*)
        })*
    };
}

functions! {
    sin(x);
    cos(x);
    tan(x);
    atan2(y, x);
    exp(x);
    log(x);
    pow(x, y);
    sqrt(x);
    fabs(x);
    floor(x);
    ceil(x);
}

#[unsafe(no_mangle)]
extern "C" fn fabsf(x: f32) -> f32 {
    libm::fabsf(x)
}

#[unsafe(no_mangle)]
extern "C" fn sqrtf(x: f32) -> f32 {
    libm::sqrtf(x)
}

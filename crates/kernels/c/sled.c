#include "sled.h"

#include "params.h"

#define TEXT(number) #number
#define TIMES(number) TEXT(number)

#if defined(__x86_64__)
/*
 * A register is added, not the constant 1: recent cores fold small constants while they rename registers and spend no
 * cycle on them. The prefix DS does nothing but make the instruction 4 bytes long.
 */
#define ADD ".byte 0x3e, 0x48, 0x01, 0xd0\n\t" /* ds addq %rdx, %rax */
#define BACK "jmp *%r11\n\t"
#elif defined(__arm__)
#define ADD "add r2, r2, r3\n\t"
#define BACK "bx r12\n\t"
#else
#define ADD "add x9, x9, x10\n\t"
#define BACK "br x11\n\t"
#endif

__asm__(".text\n\t"
#if defined(__arm__)
	".arm\n\t"
#endif
	".balign 64\n\t"
	".rept " TIMES(WK_MOST_ADDS) "\n\t" ADD ".endr\n\t"
	".hidden wk_sled_end\n\t"
	".globl wk_sled_end\n"
	"wk_sled_end:\n\t" BACK);
